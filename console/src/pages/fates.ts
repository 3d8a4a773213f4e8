/** How each node of an execution fares: from its visits, as they are now or were at some moment. */
import type { Schemas } from '../api/client';
import type { Fate } from '../canvas/NodeCard';

type Visit = Schemas['NodeItem'];
type Wait = Schemas['WaitItem'];

export function fatesOf(
  visits: readonly Visit[],
  waits: readonly Wait[],
  at: number | null,
): Map<string, Fate> {
  const fates = new Map<string, Fate>();
  for (const visit of visits) {
    if (visit.itemKey) continue;
    const started = Date.parse(visit.startedAt);
    if (at !== null && started > at) continue;
    const before = fates.get(visit.nodeId);
    fates.set(visit.nodeId, fateOf(visit, started, before?.visits ?? 0, waits, at));
  }
  return fates;
}

function fateOf(
  visit: Visit,
  started: number,
  earlier: number,
  waits: readonly Wait[],
  at: number | null,
): Fate {
  const ended = visit.completedAt ? Date.parse(visit.completedAt) : null;
  const over = ended !== null && (at === null || ended <= at);
  const wait = at === null && !over ? waits.find((each) => each.nodeId === visit.nodeId) : undefined;
  return {
    status: over || at === null ? visit.status : 'running',
    visits: earlier + 1,
    attempt: visit.attempt,
    took: over && ended !== null ? ended - started : null,
    from: visit.startedAt,
    ...(wait?.enabledEvents ? { received: receivedOf(wait), misses: wait.nearMisses ?? 0 } : {}),
    ...(at === null && !over ? { deadline: wait?.expiresAt ?? visit.dueAt } : {}),
  };
}

function receivedOf(wait: Wait): string {
  return `${wait.receivedEvents?.length ?? 0} of ${wait.enabledEvents?.length ?? 0} received`;
}

/** From the first to the last moment at which something happened. */
export function spanOf(visits: readonly Visit[]): [number, number] | null {
  const moments = visits
    .flatMap((visit) => [visit.startedAt, visit.completedAt])
    .filter((each) => each !== null);
  if (!moments.length) return null;
  const times = moments.map((each) => Date.parse(each));
  return [Math.min(...times), Math.max(...times)];
}
