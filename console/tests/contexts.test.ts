import { expect, test } from 'vitest';
import { changesOf, foundBy } from '../src/pages/contexts';

const at = (second: number) => new Date(Date.UTC(2026, 0, 5, 9, 0, second)).toISOString();
const visit = (
  nodeId: string,
  second: number,
  output: unknown,
  changes: unknown = null,
  status = 'completed',
) => ({
  nodeId,
  type: 'TRANSFORM',
  visit: 1,
  itemKey: '',
  status,
  attempt: 1,
  startedAt: at(second),
  completedAt: status === 'completed' ? at(second + 1) : null,
  dueAt: null,
  error: null,
  warnings: [],
  output,
  changes,
});

test('a visit changes what it says, or else its output', () => {
  expect(changesOf(visit('a', 0, { x: 1 }))).toEqual({ x: 1 });
  expect(changesOf(visit('a', 0, { status: 200 }, { answer: 'yes' }))).toEqual({ answer: 'yes' });
  expect(changesOf(visit('a', 0, { status: 200 }, {}))).toEqual({});
  expect(changesOf(visit('a', 0, 'text'))).toEqual({});
  expect(changesOf(visit('a', 0, { x: 1 }, null, 'waiting_for_events'))).toEqual({});
});

test('a visit found what was given, and what those before it changed', () => {
  const nodes = [visit('a', 0, { total: 1 }), visit('b', 1, { total: 2 }), visit('c', 2, { paid: true })];
  const execution = {
    given: { order: 7 },
    context: { order: 7, total: 2, paid: true },
    nodes,
    moreNodes: false,
  };
  expect(nodes.map((each) => foundBy(execution, each))).toEqual([
    { order: 7 },
    { order: 7, total: 1 },
    { order: 7, total: 2 },
  ]);
});

test('where somebody changed the context by hand, nobody knows what a visit found', () => {
  const nodes = [visit('a', 0, { total: 1 })];
  const execution = { given: {}, context: { total: 5 }, nodes, moreNodes: false };
  expect(foundBy(execution, nodes[0] ?? visit('a', 0, {}))).toBeNull();
});
