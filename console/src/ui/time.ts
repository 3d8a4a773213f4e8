/** Lengths and moments, in words. */
const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['week', 604_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });

export function relativeTo(then: Date, now: Date): string {
  const seconds = (then.getTime() - now.getTime()) / 1000;
  if (Math.abs(seconds) < 5) return 'now';
  const [unit, length] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? ['second', 1];
  return relative.format(Math.trunc(seconds / length), unit);
}

export function exactly(then: Date): string {
  return exact.format(then);
}

/** `3 ms`, `4.2 s`, `2 min 5 s`, `3 h 20 min`, `2 d 4 h`. */
export function lengthOf(milliseconds: number): string {
  const ms = Math.max(0, milliseconds);
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.floor(seconds);
  if (whole < 60) return `${whole} s`;
  const [minutes, hours, days] = [
    Math.floor(whole / 60),
    Math.floor(whole / 3600),
    Math.floor(whole / 86_400),
  ];
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  if (hours < 24) return `${hours} h ${minutes % 60} min`;
  return `${days} d ${hours % 24} h`;
}
