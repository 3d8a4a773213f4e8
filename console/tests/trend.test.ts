import { expect, test } from 'vitest';
import { heading, trendOf } from '../src/pages/trend';

const now = Date.UTC(2026, 0, 5, 12, 0);
const bucket = (node: string, minutesAgo: number, late: number, failed = 0) => ({
  node,
  bucketStart: new Date(now - minutesAgo * 60_000).toISOString(),
  late,
  failed,
});

test('what went wrong is counted by when it did, of one node alone', () => {
  const counts = trendOf(
    [bucket('a', 1, 2), bucket('a', 4, 1, 1), bucket('a', 12, 5), bucket('b', 1, 9)],
    'a',
    now,
  );
  expect(counts).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 4]);
});

test('what is older than an hour is left out, and a minute that has only just begun counts', () => {
  const counts = trendOf([bucket('a', 61, 7), bucket('a', -0.5, 1)], 'a', now);
  expect(counts.reduce((total, each) => total + each, 0)).toBe(1);
  expect(counts.at(-1)).toBe(1);
});

test('a trend is told in a word', () => {
  expect(heading([0, 0, 0, 0])).toBe('quiet');
  expect(heading([1, 0, 3, 4])).toBe('rising');
  expect(heading([5, 5, 1, 0])).toBe('falling');
  expect(heading([5, 5, 5, 5])).toBe('steady');
});
