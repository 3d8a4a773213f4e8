import { expect, test } from 'vitest';
import { fatesOf, spanOf } from '../src/pages/fates';

const at = (second: number) => new Date(Date.UTC(2026, 0, 5, 9, 0, second)).toISOString();
const visit = (nodeId: string, type: string, status: string, from: number, to: number | null) => ({
  nodeId,
  type,
  visit: 1,
  itemKey: '',
  status,
  attempt: 1,
  startedAt: at(from),
  completedAt: to === null ? null : at(to),
  dueAt: null,
  error: null as unknown,
  warnings: [],
  output: null,
  changes: null,
});

test('looking back, what waited then waits, and is not said to run', () => {
  const visits = [
    visit('begin', 'LOG', 'completed', 0, 0),
    visit('answer', 'wait_events', 'completed', 0, 30),
    visit('send', 'REST_SYNC', 'completed', 30, 40),
  ];
  const then = fatesOf(visits, [], Date.parse(at(10)));
  expect(then.get('begin')?.status).toBe('completed');
  expect(then.get('answer')?.status).toBe('waiting_for_events');
  expect(then.has('send')).toBe(false);
  expect(fatesOf(visits, [], Date.parse(at(35))).get('send')?.status).toBe('running');
});

test('what still waits is looked back on as waiting, too', () => {
  const visits = [visit('pay', 'X_CUSTOM', 'waiting_for_task', 0, null)];
  expect(fatesOf(visits, [], Date.parse(at(5))).get('pay')?.status).toBe('waiting_for_task');
});

test('one can look back on what goes on: its time reaches until now', () => {
  const visits = [
    visit('begin', 'LOG', 'completed', 0, 0),
    visit('answer', 'wait_events', 'waiting_for_events', 0, null),
  ];
  expect(spanOf(visits, Date.parse(at(50)))).toEqual([Date.parse(at(0)), Date.parse(at(50))]);
  expect(spanOf(visits.slice(0, 1), Date.parse(at(50)))).toEqual([Date.parse(at(0)), Date.parse(at(0))]);
  expect(spanOf([], 0)).toBeNull();
});

test('a node that failed says why', () => {
  const failed = {
    ...visit('pay', 'REST_SYNC', 'failed', 0, 1),
    error: { type: 'HTTP', message: 'the bank is away' },
  };
  expect(fatesOf([failed], [], null).get('pay')?.error).toBe('the bank is away');
  expect(fatesOf([failed], [], Date.parse(at(0))).get('pay')?.error).toBeUndefined();
});
