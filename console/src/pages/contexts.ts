/** The context of an execution, visit by visit: what each changed in it, and what each found. */
import type { Schemas } from '../api/client';
import { isObject, type JsonObject } from '../graph/flow';

type Visit = Schemas['NodeItem'];
type Whole = Pick<Schemas['ExecutionWhole'], 'given' | 'context' | 'nodes' | 'moreNodes'>;

/** What a visit changed in the context when it was completed. */
export function changesOf(visit: Visit): JsonObject {
  if (visit.itemKey || visit.completedAt === null || visit.status !== 'completed') return {};
  if (isObject(visit.changes)) return visit.changes;
  return visit.changes === null && isObject(visit.output) ? visit.output : {};
}

/** The context that a visit found, from what was given and what those before it changed. Null: that does not come to
 * the context that there is (somebody changed it by hand, say), so nobody knows. */
export function foundBy(execution: Whole, visit: Visit): JsonObject | null {
  const { given, context, nodes } = execution;
  if (!isObject(given) || execution.moreNodes) return null;
  const all = changed(given, nodes);
  if (!same(all, context)) return null;
  const began = Date.parse(visit.startedAt);
  const before = nodes
    .slice(0, nodes.indexOf(visit))
    .filter((each) => each.completedAt !== null && Date.parse(each.completedAt) <= began);
  return changed(given, before);
}

function changed(given: JsonObject, visits: readonly Visit[]): JsonObject {
  return Object.assign({}, given, ...visits.map(changesOf));
}

function same(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  const [mine, theirs] = [Object.entries(one), other as JsonObject];
  return (
    Array.isArray(one) === Array.isArray(other) &&
    mine.length === Object.keys(theirs).length &&
    mine.every(([name, value]) => name in theirs && same(value, theirs[name]))
  );
}
