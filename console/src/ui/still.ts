/** A list that stands still while it is read anew: no row moves under the pointer. */

export interface Still<Row> {
  readonly rows: readonly Row[];
  /** Keys of what is new above or between what is shown. */
  readonly news: ReadonlySet<string>;
  /** Keys of what is shown and no longer belongs there. */
  readonly gone: ReadonlySet<string>;
}

export function begun<Row>(rows: readonly Row[]): Still<Row> {
  return { rows, news: new Set(), gone: new Set() };
}

/** What is shown once the list was read anew: rows in their places, as they are by now; what is below them. What
 * would move them is counted. `more`: there are further pages, on which the last rows may be by now. */
export function followed<Row>(
  before: Still<Row>,
  now: readonly Row[],
  keyOf: (row: Row) => string,
  more: boolean,
): Still<Row> {
  // An empty list has nothing that could jump.
  if (before.rows.length === 0) return begun(now);
  const shown = new Set(before.rows.map(keyOf));
  const there = new Map(now.map((row) => [keyOf(row), row]));
  const last = now.findLastIndex((row) => shown.has(keyOf(row)));
  const above = now.slice(0, last < 0 ? now.length : last + 1);
  const end = more ? before.rows.findLastIndex((row) => there.has(keyOf(row))) : before.rows.length;
  return {
    rows: [
      ...before.rows.map((row) => there.get(keyOf(row)) ?? row),
      ...(last < 0 ? [] : now.slice(last + 1)),
    ],
    news: new Set(above.map(keyOf).filter((key) => !shown.has(key))),
    gone: new Set(
      before.rows
        .slice(0, Math.max(0, end))
        .map(keyOf)
        .filter((key) => !there.has(key)),
    ),
  };
}
