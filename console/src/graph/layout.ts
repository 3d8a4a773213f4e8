/** Where nodes stand: columns from left to right by the longest way to a node, rows in the flow's order. Adding
 * a node moves nothing before it. The server draws in the same way. */
import type { Flow } from './flow';
import { startOf } from './flow';

export interface Place {
  readonly x: number;
  readonly y: number;
}

export const WIDTH = 232;
export const HEIGHT = 76;
const COLUMN = WIDTH + 72;
const ROW = HEIGHT + 44;

export function layOut(flow: Flow): ReadonlyMap<string, Place> {
  const ids = flow.nodes.map((node) => node.id);
  const after = new Map(ids.map((id) => [id, [] as string[]]));
  for (const edge of flow.edges) if (after.has(edge.to)) after.get(edge.from)?.push(edge.to);
  const { order, back } = walk(ids, after, startOf(flow));
  const before = new Map(ids.map((id) => [id, [] as string[]]));
  for (const [from, targets] of after) {
    for (const to of targets) if (!back.has(`${from}\n${to}`)) before.get(to)?.push(from);
  }
  const columns = new Map<string, number>();
  for (const id of order)
    columns.set(id, Math.max(0, ...(before.get(id) ?? []).map((each) => (columns.get(each) ?? 0) + 1)));
  return placed(ids, columns, before);
}

/** A topological order, and the edges that lead back onto the path that is walked. */
function walk(ids: readonly string[], after: ReadonlyMap<string, string[]>, start: string | undefined) {
  const seen = new Set<string>();
  const onPath = new Set<string>();
  const done: string[] = [];
  const back = new Set<string>();
  for (const root of [...(start ? [start] : []), ...ids]) {
    if (seen.has(root)) continue;
    seen.add(root);
    onPath.add(root);
    const work: [string, number][] = [[root, 0]];
    for (let top = work.at(-1); top; top = work.at(-1)) {
      const [id, next] = top;
      const target = after.get(id)?.[next];
      top[1] += 1;
      if (target === undefined) {
        work.pop();
        onPath.delete(id);
        done.push(id);
      } else if (onPath.has(target)) {
        back.add(`${id}\n${target}`);
      } else if (!seen.has(target)) {
        seen.add(target);
        onPath.add(target);
        work.push([target, 0]);
      }
    }
  }
  return { order: done.reverse(), back };
}

function placed(
  ids: readonly string[],
  columns: ReadonlyMap<string, number>,
  before: ReadonlyMap<string, string[]>,
) {
  const taken = new Map<number, Set<number>>();
  const rows = new Map<string, number>();
  const places = new Map<string, Place>();
  const byColumn = [...ids].sort((one, other) => (columns.get(one) ?? 0) - (columns.get(other) ?? 0));
  for (const id of byColumn) {
    const column = columns.get(id) ?? 0;
    const used = taken.get(column) ?? new Set<number>();
    taken.set(column, used);
    let row = Math.min(...(before.get(id) ?? []).map((each) => rows.get(each) ?? 0));
    if (!Number.isFinite(row)) row = 0;
    while (used.has(row)) row += 1;
    used.add(row);
    rows.set(id, row);
    places.set(id, { x: column * COLUMN, y: row * ROW });
  }
  return places;
}
