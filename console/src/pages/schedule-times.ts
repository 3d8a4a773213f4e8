import { api, got, type Schemas } from '../api/client';

export type Schedule = Schemas['ScheduleItem'];

/** What says when: a schedule's own fields, saved or not. */
export interface When {
  readonly scheduleType: string;
  readonly cronExpression?: string | null;
  readonly intervalMinutes?: number | null;
  readonly dayOfMonth?: number | null;
  readonly time?: string | null;
  readonly timezone: string;
  readonly startDate?: string | null;
  readonly endDate?: string | null;
}

/** As the server takes it: without what is not there. */
export function whenOf(from: When): When {
  const { scheduleType, cronExpression, intervalMinutes, dayOfMonth, time, timezone, startDate, endDate } =
    from;
  const fields = { cronExpression, intervalMinutes, dayOfMonth, time, startDate, endDate };
  const there = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  return { scheduleType, timezone, ...Object.fromEntries(there) };
}

export async function nextTimes(when: When, count: number, after?: string): Promise<readonly string[]> {
  const body = { ...whenOf(when), count, ...(after ? { after } : {}) };
  return (await got(api.POST('/api/workflow/schedule/next', { body }))).next;
}

export function inWords(when: When): string {
  if (when.cronExpression) return when.cronExpression;
  if (when.intervalMinutes) return `every ${when.intervalMinutes} min`;
  return `day ${when.dayOfMonth} at ${when.time ?? '00:00'}`;
}

const FORMAT = {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
} as const;

export function inZone(at: string, timeZone?: string): string {
  return new Intl.DateTimeFormat(undefined, timeZone ? { ...FORMAT, timeZone } : FORMAT).format(new Date(at));
}

/** Whether the clocks of its zone are changed between the first and the last of these times. */
export function clocksChange(times: readonly string[]): boolean {
  return new Set(times.map((each) => /(Z|[+-]\d\d:\d\d)$/.exec(each)?.[0])).size > 1;
}

/** The weeks of a month, from Monday on, as days; with those of the months beside it that fill them. */
export function weeksOf(year: number, month: number): Date[][] {
  const first = new Date(year, month, 1);
  const begin = 1 - ((first.getDay() + 6) % 7);
  const length = new Date(year, month + 1, 0).getDate() - begin + 1;
  return Array.from({ length: Math.ceil(length / 7) }, (_, week) =>
    Array.from({ length: 7 }, (__, day) => new Date(year, month, begin + week * 7 + day)),
  );
}

/** `2026-03`, as it stands in the address. */
export function monthOf(text: string | undefined, now: Date): { year: number; month: number } {
  const [, year, month] = /^(\d{4})-(\d{2})$/.exec(text ?? '') ?? [];
  if (!year || Number(month) < 1 || Number(month) > 12)
    return { year: now.getFullYear(), month: now.getMonth() };
  return { year: Number(year), month: Number(month) - 1 };
}

export function named(year: number, month: number): string {
  const date = new Date(year, month, 1);
  return `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, '0')}`;
}
