import { expect, test } from 'vitest';
import { lineOf, namedOn, placeOn } from '../src/pages/item-marks';

const at = (minute: number) => new Date(Date.UTC(2026, 0, 5, 9, minute)).toISOString();
const event = (node: string, minute: number, latenessSec: number | null = null) => ({
  node,
  sourceSystem: 's',
  eventId: node,
  eventTime: at(minute),
  receivedAt: at(minute),
  late: latenessSec !== null,
  latenessSec,
  duplicate: false,
  orderViolation: false,
  clamped: false,
  payload: null,
});
const expectation = (toNode: string, minute: number, status: 'pending' | 'fired' | 'cleared') => ({
  id: minute,
  fromNode: 'a',
  toNode,
  dueAt: at(minute),
  countdownSec: 0,
  severity: 'red' as const,
  status,
  optional: false,
  firedAt: null,
});

test('what was late lies between when it was due and when it came', () => {
  const line = lineOf(
    { events: [event('a', 0), event('b', 20, 600)], expectations: [], startedAt: at(0) },
    0,
  );
  expect(line.marks.map(({ kind }) => kind)).toEqual(['came', 'late']);
  expect(placeOn(line, line.marks[1]?.due ?? 0)).toBe(50);
  expect(placeOn(line, line.marks[1]?.at ?? 0)).toBe(100);
});

test('what is missed reaches until now, and what is to come lies ahead', () => {
  const now = Date.parse(at(30));
  const item = { events: [event('a', 0)], startedAt: at(0) };
  const missed = lineOf({ ...item, expectations: [expectation('b', 15, 'fired')] }, now);
  expect([missed.to, missed.marks[1]?.kind]).toEqual([now, 'missed']);
  const ahead = lineOf({ ...item, expectations: [expectation('b', 60, 'pending')] }, now);
  expect([placeOn(ahead, now), ahead.marks[1]?.kind]).toEqual([50, 'due']);
});

test('what was met is a mark once, and a line with one moment has a length', () => {
  const item = { events: [event('a', 0)], expectations: [expectation('b', 5, 'cleared')], startedAt: at(0) };
  const line = lineOf(item, Date.parse(at(30)));
  expect(line.marks).toHaveLength(1);
  expect(line.to).toBeGreaterThan(line.from);
});

test('names of marks that are close stand below each other, and those of others beside', () => {
  const close = [event('booked', 0), event('verified', 1), event('settled', 60)];
  const line = lineOf({ events: close, expectations: [], startedAt: at(0) }, 0);
  expect(namedOn(line)).toEqual([0, 1, 0]);
});
