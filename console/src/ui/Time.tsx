import { useEffect, useState } from 'react';
import { exactly, lengthOf, relativeTo } from './time';

/** The present, looked at again every so often. */
export function useNow(every = 1000): Date {
  const [now, look] = useState(() => new Date());
  useEffect(() => {
    const clock = setInterval(() => look(new Date()), every);
    return () => clearInterval(clock);
  }, [every]);
  return now;
}

export function Time({ at }: { at: string | null | undefined }) {
  const now = useNow(10_000);
  if (!at) return <span className="quiet">–</span>;
  const then = new Date(at);
  return (
    <time dateTime={at} title={exactly(then)}>
      {relativeTo(then, now)}
    </time>
  );
}

/** How long something took, or has taken so far. */
export function Took({ from, to }: { from: string; to: string | null | undefined }) {
  return to ? <span>{lengthOf(Date.parse(to) - Date.parse(from))}</span> : <Since from={from} />;
}

function Since({ from }: { from: string }) {
  const now = useNow();
  return <span>{lengthOf(now.getTime() - Date.parse(from))}</span>;
}

/** Until a deadline, amber in the last tenth of its time; or how long ago it was. */
export function Countdown({ to, from, short }: { to: string; from?: string | undefined; short?: boolean }) {
  const now = useNow();
  const left = Date.parse(to) - now.getTime();
  const length = from ? Date.parse(to) - Date.parse(from) : Number.POSITIVE_INFINITY;
  const near = left < 0 || (Number.isFinite(length) && left < length / 10);
  return (
    <time dateTime={to} title={exactly(new Date(to))} className={near ? 'countdown near' : 'countdown'}>
      {left > 0
        ? short
          ? shortly(left)
          : `${whole(left)} left`
        : left > -1000
          ? 'due now'
          : `${whole(-left)} overdue`}
    </time>
  );
}

function whole(ms: number): string {
  return lengthOf(Math.ceil(ms / 1000) * 1000);
}

/** `44:05`, `3:20:00`, `2 d`. */
function shortly(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds >= 172_800) return `${Math.floor(seconds / 86_400)} d`;
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = [
    hours ? minutes.toString().padStart(2, '0') : minutes,
    (seconds % 60).toString().padStart(2, '0'),
  ];
  return (hours ? [hours, ...rest] : rest).join(':');
}
