import { expect, test } from 'vitest';
import { begun, followed } from '../src/ui/still';

interface Row {
  readonly id: string;
  readonly status: string;
}

const rows = (...ids: string[]): Row[] => ids.map((id) => ({ id, status: 'old' }));
const keyOf = (row: Row) => row.id;
const shown = (still: { rows: readonly Row[] }) => still.rows.map(keyOf).join(' ');

test('what is new above is counted, and moves nothing', () => {
  const still = followed(begun(rows('b', 'a')), rows('d', 'c', 'b', 'a'), keyOf, false);
  expect(shown(still)).toBe('b a');
  expect([...still.news]).toEqual(['d', 'c']);
  expect(still.gone.size).toBe(0);
});

test('a row that has changed changes in its place', () => {
  const now = [{ id: 'b', status: 'new' }, ...rows('a')];
  expect(followed(begun(rows('b', 'a')), now, keyOf, false).rows[0]?.status).toBe('new');
});

test('what is below is appended: nothing jumps by it', () => {
  expect(shown(followed(begun(rows('d', 'c')), rows('d', 'c', 'b', 'a'), keyOf, true))).toBe('d c b a');
});

test('what no longer belongs there stays in its place, and is known to be gone', () => {
  const still = followed(begun(rows('c', 'b', 'a')), rows('c', 'a'), keyOf, false);
  expect(shown(still)).toBe('c b a');
  expect([...still.gone]).toEqual(['b']);
});

test('what was pushed to the next page is not gone', () => {
  const still = followed(begun(rows('c', 'b', 'a')), rows('d', 'c', 'b'), keyOf, true);
  expect(shown(still)).toBe('c b a');
  expect([[...still.news], [...still.gone]]).toEqual([['d'], []]);
});

test('an empty list takes what comes, and nothing is lost where all of it is new', () => {
  expect(shown(followed(begun<Row>([]), rows('a'), keyOf, false))).toBe('a');
  const still = followed(begun(rows('a')), rows('c', 'b'), keyOf, false);
  expect([shown(still), [...still.news], [...still.gone]]).toEqual(['a', ['c', 'b'], ['a']]);
});
