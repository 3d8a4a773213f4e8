/** Where nodes stand: columns from left to right by the longest way to a node, rows in the flow's order. Adding
 * a node moves nothing before it. A way over several columns has a lane of its own past what stands between. */
import { type Flow, type FlowEdge, labelOf, startOf, waysOf } from './flow';

export interface Place {
  readonly x: number;
  readonly y: number;
}

export interface Layout {
  readonly places: ReadonlyMap<string, Place>;
  /** How far down the lane runs of a way that has one, by its `laneOf`. */
  readonly lanes: ReadonlyMap<string, number>;
}

export const WIDTH = 232;
export const HEIGHT = 76;
const GAP = 72;
const ROW = HEIGHT + 44;
/** Of a letter of a way's label, and of the room around it. */
const LETTER = 7.3;
const AROUND = 48;

export function laneOf(edge: Pick<FlowEdge, 'from' | 'to'>): string {
  return `${edge.from}\n${edge.to}`;
}

export function layOut(flow: Flow): Layout {
  const ids = flow.nodes.map((node) => node.id);
  const after = new Map(ids.map((id) => [id, [] as string[]]));
  const ways = waysOf(flow);
  for (const edge of ways) if (after.has(edge.to)) after.get(edge.from)?.push(edge.to);
  const { order, back } = walk(ids, after, startOf(flow));
  const ahead = ways.filter((edge) => after.has(edge.from) && after.has(edge.to) && !back.has(laneOf(edge)));
  const columns = columnsOf(order, ahead);
  const { rows, lanes } = rowsOf(ids, columns, ahead);
  const lefts = leftsOf(flow, columns, ahead);
  return {
    places: new Map(
      ids.map((id) => [id, { x: lefts[columns.get(id) ?? 0] ?? 0, y: (rows.get(id) ?? 0) * ROW }]),
    ),
    lanes: new Map([...lanes].map(([lane, row]) => [lane, row * ROW + HEIGHT / 2])),
  };
}

function columnsOf(order: readonly string[], ahead: readonly FlowEdge[]): ReadonlyMap<string, number> {
  const before = grouped(ahead, (edge) => edge.to);
  const columns = new Map<string, number>();
  for (const id of order)
    columns.set(id, Math.max(0, ...(before.get(id) ?? []).map(({ from }) => (columns.get(from) ?? 0) + 1)));
  return columns;
}

/** The left edge of each column: what stands between two has room for what is written on the ways. */
function leftsOf(
  flow: Flow,
  columns: ReadonlyMap<string, number>,
  ahead: readonly FlowEdge[],
): readonly number[] {
  const nodes = new Map(flow.nodes.map((node) => [node.id, node]));
  const gaps = Array.from({ length: Math.max(0, ...columns.values()) }, () => GAP);
  for (const edge of ahead) {
    const column = columns.get(edge.from) ?? 0;
    const label = labelOf(edge, nodes.get(edge.from));
    if (label) gaps[column] = Math.max(gaps[column] ?? GAP, label.length * LETTER + AROUND);
  }
  const lefts = [0];
  for (const gap of gaps) lefts.push((lefts.at(-1) ?? 0) + WIDTH + gap);
  return lefts;
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

/** Column by column: what stands in it as high as what it follows, then the lanes that pass it, which keep their
 * row in all that they pass. */
function rowsOf(
  ids: readonly string[],
  columns: ReadonlyMap<string, number>,
  ahead: readonly FlowEdge[],
): { rows: ReadonlyMap<string, number>; lanes: ReadonlyMap<string, number> } {
  const column = (id: string) => columns.get(id) ?? 0;
  const count = Math.max(0, ...columns.values()) + 1;
  const taken = Array.from({ length: count }, () => new Set<number>());
  const rows = new Map<string, number>();
  const lanes = new Map<string, number>();
  const inColumn = grouped(ids, column);
  const into = grouped(ahead, (edge) => edge.to);
  const long = grouped(
    ahead.filter((edge) => column(edge.to) - column(edge.from) > 1),
    (edge) => column(edge.from) + 1,
  );
  for (let at = 0; at < count; at += 1) {
    for (const id of inColumn.get(at) ?? []) {
      const row = firstFree(
        [taken[at]],
        wished(into.get(id) ?? [], rows, (edge) => column(edge.from) === at - 1),
      );
      taken[at]?.add(row);
      rows.set(id, row);
    }
    for (const edge of long.get(at) ?? []) {
      if (lanes.has(laneOf(edge))) continue;
      const passed = taken.slice(at, column(edge.to));
      const row = firstFree(passed, rows.get(edge.from) ?? 0);
      for (const each of passed) each.add(row);
      lanes.set(laneOf(edge), row);
    }
  }
  return { rows, lanes };
}

/** As high as the highest that it follows directly; what only errors lead to stands below. */
function wished(
  into: readonly FlowEdge[],
  rows: ReadonlyMap<string, number>,
  direct: (edge: FlowEdge) => boolean,
): number {
  const near = into
    .filter(direct)
    .map((edge) => (rows.get(edge.from) ?? 0) + (edge.type === 'error' ? 1 : 0));
  return near.length ? Math.min(...near) : 0;
}

function firstFree(taken: readonly (ReadonlySet<number> | undefined)[], from: number): number {
  let row = from;
  while (taken.some((each) => each?.has(row))) row += 1;
  return row;
}

function grouped<T, K>(all: readonly T[], of: (each: T) => K): ReadonlyMap<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const each of all) {
    const group = groups.get(of(each));
    if (group) group.push(each);
    else groups.set(of(each), [each]);
  }
  return groups;
}
