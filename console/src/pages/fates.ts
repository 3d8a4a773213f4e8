/** How each node of an execution fares: from its visits, as they are now or were at some moment. */
import type { Schemas } from '../api/client';
import type { Fate } from '../canvas/NodeCard';

type Visit = Schemas['NodeItem'];
type Wait = Schemas['WaitItem'];

/** What they do until they are over, where that is not to run. */
const UNTIL_THEN: Record<string, string> = {
  WAIT_EVENTS: 'waiting_for_events',
  KAFKA_COMMAND: 'waiting_for_reply',
  APPROVAL: 'waiting_for_task',
  EXTERNAL_TASK: 'waiting_for_task',
  SUB_WORKFLOW: 'waiting_for_task',
  DELAY: 'paused',
};

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
  const error = over || at === null ? messageOf(visit.error) : null;
  return {
    status: over || at === null ? visit.status : thenOf(visit),
    visits: earlier + 1,
    attempt: visit.attempt,
    took: over && ended !== null ? ended - started : null,
    from: visit.startedAt,
    ...(error === null ? {} : { error }),
    ...(wait?.enabledEvents ? { received: receivedOf(wait), misses: wait.nearMisses ?? 0 } : {}),
    ...(at === null && !over ? { deadline: wait?.expiresAt ?? visit.dueAt } : {}),
  };
}

/** What it did before it was over: as it says itself if it is not over yet, else as its type does. */
function thenOf({ completedAt, status, type }: Visit): string {
  return completedAt === null ? status : (UNTIL_THEN[type.toUpperCase()] ?? 'running');
}

function messageOf(error: unknown): string | null {
  const message = (error as { message?: unknown } | null)?.message;
  return typeof message === 'string' ? message : null;
}

function receivedOf(wait: Wait): string {
  return `${wait.receivedEvents?.length ?? 0} of ${wait.enabledEvents?.length ?? 0} received`;
}

/** From the first to the last moment at which something happened; of what goes on, until now. */
export function spanOf(visits: readonly Visit[], now: number): [number, number] | null {
  if (!visits.length) return null;
  const goesOn = visits.some((visit) => visit.completedAt === null);
  const moments = visits
    .flatMap((visit) => [visit.startedAt, visit.completedAt])
    .filter((each) => each !== null)
    .map((each) => Date.parse(each));
  return [Math.min(...moments), Math.max(...moments, ...(goesOn ? [now] : []))];
}
