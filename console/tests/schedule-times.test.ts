import { describe, expect, it } from 'vitest';
import { clocksChange, monthOf, named, weeksOf, whenOf } from '../src/pages/schedule-times';

describe('a month', () => {
  it('is whole weeks from Monday on, with every day of it once', () => {
    for (let month = 0; month < 48; month += 1) {
      const weeks = weeksOf(2026, month);
      expect(weeks.every((week) => week.length === 7 && week[0]?.getDay() === 1)).toBe(true);
      const own = weeks.flat().filter((day) => day.getMonth() === month % 12);
      expect(own.map((day) => day.getDate())).toEqual(own.map((_, index) => index + 1));
      expect(own.length).toBe(new Date(2026, month + 1, 0).getDate());
    }
  });

  it('is read from the address, and is this one where that says none', () => {
    const now = new Date(2026, 4, 3);
    expect(monthOf('2027-01', now)).toEqual({ year: 2027, month: 0 });
    for (const text of [undefined, '', '2027', '2027-13', 'x'])
      expect(monthOf(text, now)).toEqual({ year: 2026, month: 4 });
    expect([named(2026, -1), named(2026, 12)]).toEqual(['2025-12', '2027-01']);
  });
});

describe('a schedule', () => {
  it('is asked about without what is not there', () => {
    expect(
      whenOf({ scheduleType: 'CRON', cronExpression: '0 9 * * *', time: null, timezone: 'UTC' }),
    ).toEqual({ scheduleType: 'CRON', cronExpression: '0 9 * * *', timezone: 'UTC' });
  });

  it('says where the clocks are changed between its times', () => {
    expect(clocksChange(['2026-03-28T09:00:00+01:00', '2026-03-29T09:00:00+02:00'])).toBe(true);
    expect(clocksChange(['2026-03-28T09:00:00Z', '2026-03-29T09:00:00Z'])).toBe(false);
    expect(clocksChange([])).toBe(false);
  });
});
