import { useQueries } from '@tanstack/react-query';
import { Fragment } from 'react';
import { inWords, inZone, monthOf, named, nextTimes, type Schedule, weeksOf } from './schedule-times';

// As many as the server says at once: what fires more often is told in words.
const MOST = 100;
const SHOWN = 4;

interface Props {
  readonly schedules: readonly Schedule[];
  readonly nameOf: (schedule: Schedule) => string;
  readonly month: string | undefined;
  readonly turn: (month: string) => void;
  readonly open: (schedule: Schedule) => void;
}

interface Firing {
  readonly at: Date;
  readonly schedule: Schedule;
}

/** When everything fires in a month, in the viewer's zone. */
export function ScheduleMonth({ schedules, nameOf, month: asked, turn, open }: Props) {
  const { year, month } = monthOf(asked, new Date());
  const weeks = weeksOf(year, month);
  const begin = weeks[0]?.[0] ?? new Date(year, month, 1);
  const end = new Date(begin.getFullYear(), begin.getMonth(), begin.getDate() + weeks.length * 7);
  const active = schedules.filter((each) => each.status === 'ACTIVE');
  const found = useQueries({
    queries: active.map((schedule) => ({
      queryKey: ['schedules', 'month', schedule.id, schedule.version, begin.toISOString()],
      queryFn: () => nextTimes(schedule, MOST, new Date(begin.getTime() - 1).toISOString()),
      staleTime: 300_000,
    })),
  });
  const firings: Firing[] = [];
  const often: Schedule[] = [];
  active.forEach((schedule, index) => {
    const times = found[index]?.data?.map((at) => new Date(at)) ?? [];
    const last = times.at(-1);
    if (times.length === MOST && last && last < end) often.push(schedule);
    else firings.push(...times.filter((at) => at < end).map((at) => ({ at, schedule })));
  });
  firings.sort((one, other) => one.at.getTime() - other.at.getTime());
  const title = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric' });
  const weekday = new Intl.DateTimeFormat(undefined, { weekday: 'short' });
  return (
    <section className="month" aria-label="Month">
      <header className="inline">
        <button
          type="button"
          className="button small"
          aria-label="The month before"
          onClick={() => turn(named(year, month - 1))}
        >
          ‹
        </button>
        <h2 aria-live="polite">{title.format(new Date(year, month, 1))}</h2>
        <button
          type="button"
          className="button small"
          aria-label="The month after"
          onClick={() => turn(named(year, month + 1))}
        >
          ›
        </button>
      </header>
      <table className="days">
        <thead>
          <tr>
            {weeks[0]?.map((day) => (
              <th key={day.getDay()} scope="col">
                {weekday.format(day)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {weeks.map((week) => (
            <tr key={String(week[0])}>
              {week.map((day) => (
                <Day
                  key={String(day)}
                  day={day}
                  outside={day.getMonth() !== month}
                  firings={firings.filter((each) => each.at.toDateString() === day.toDateString())}
                  nameOf={nameOf}
                  open={open}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {often.length > 0 && (
        <p className="quiet">
          Too often to be drawn:{' '}
          {often.map((schedule, index) => (
            <Fragment key={schedule.id}>
              {index > 0 && ', '}
              <button type="button" className="link" onClick={() => open(schedule)}>
                {nameOf(schedule)}
              </button>{' '}
              <code>{inWords(schedule)}</code>
            </Fragment>
          ))}
        </p>
      )}
    </section>
  );
}

interface DayProps {
  readonly day: Date;
  readonly outside: boolean;
  readonly firings: readonly Firing[];
  readonly nameOf: (schedule: Schedule) => string;
  readonly open: (schedule: Schedule) => void;
}

function Day({ day, outside, firings, nameOf, open }: DayProps) {
  const today = day.toDateString() === new Date().toDateString();
  const clock = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' });
  const weekday = new Intl.DateTimeFormat(undefined, { weekday: 'long' });
  return (
    <td className={outside ? 'outside' : undefined} aria-current={today ? 'date' : undefined}>
      <span className="number">{day.getDate()}</span>
      <span className="weekday quiet">{weekday.format(day)}</span>
      {firings.slice(0, SHOWN).map(({ at, schedule }) => (
        <button
          key={`${schedule.id} ${at.toISOString()}`}
          type="button"
          className={at < new Date() ? 'firing past' : 'firing'}
          title={`${nameOf(schedule)}, ${inZone(at.toISOString(), schedule.timezone)} in ${schedule.timezone}`}
          onClick={() => open(schedule)}
        >
          <time dateTime={at.toISOString()}>{clock.format(at)}</time> {nameOf(schedule)}
        </button>
      ))}
      {firings.length > SHOWN && <span className="quiet">{firings.length - SHOWN} more</span>}
    </td>
  );
}
