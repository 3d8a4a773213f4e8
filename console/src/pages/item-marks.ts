/** An item's life as marks on one line, to scale. */
import type { Schemas } from '../api/client';

type Whole = Pick<Schemas['ItemWhole'], 'events' | 'expectations' | 'startedAt'>;

export interface Mark {
  readonly id: string;
  readonly kind: 'came' | 'late' | 'due' | 'missed';
  readonly node: string;
  readonly at: number;
  /** Where it should have been by; what lies between is how late it is. */
  readonly due: number | null;
}

export interface Line {
  readonly from: number;
  readonly to: number;
  readonly marks: readonly Mark[];
}

export function lineOf(item: Whole, now: number): Line {
  const came = item.events.map((event): Mark => {
    const at = Date.parse(event.eventTime);
    const due = event.late && event.latenessSec ? at - event.latenessSec * 1000 : null;
    const id = `${event.sourceSystem} ${event.eventId}`;
    return { id, kind: event.late || event.orderViolation ? 'late' : 'came', node: event.node, at, due };
  });
  const open = item.expectations.filter((each) => each.status === 'pending' || each.status === 'fired');
  const ahead = open.map(
    ({ id, status, toNode, dueAt }): Mark => ({
      id: String(id),
      kind: status === 'fired' ? 'missed' : 'due',
      node: toNode,
      at: Date.parse(dueAt),
      due: null,
    }),
  );
  const marks = [...came, ...ahead].toSorted((one, other) => one.at - other.at);
  const moments = marks.flatMap(({ at, due }) => (due === null ? [at] : [at, due]));
  // What is over ends with what came last; what is not, with now or what is to come.
  const end = open.length ? [...moments, now] : moments;
  const from = Math.min(...moments, Date.parse(item.startedAt));
  return { from, to: Math.max(...end, from + 1000), marks };
}

/** From 0 to 100. */
export function placeOn({ from, to }: Line, at: number): number {
  return Math.min(100, Math.max(0, ((at - from) / (to - from)) * 100));
}

/** How much of the line a name may take; more than that, and it stands below the one before. */
const [LETTER, SPACE] = [1.1, 2];

/** In which row the name of each mark stands, so that none covers another. */
export function namedOn(line: Line): readonly number[] {
  const taken: [from: number, to: number][][] = [];
  return line.marks.map(({ node, at }) => {
    const place = placeOn(line, at);
    const length = node.length * LETTER + SPACE;
    const [from, to] = place > 50 ? [place - length, place] : [place, place + length];
    const found = taken.findIndex((row) => row.every(([begin, end]) => to <= begin || from >= end));
    const row = found < 0 ? taken.length : found;
    taken[row] = [...(taken[row] ?? []), [from, to]];
    return row;
  });
}
