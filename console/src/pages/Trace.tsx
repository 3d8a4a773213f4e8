import type { Schemas } from '../api/client';
import { CopyId } from '../ui/CopyId';
import { kindOf, wordOf } from '../ui/Status';
import { useNow } from '../ui/Time';
import { lengthOf } from '../ui/time';
import { spanOf } from './fates';

type Whole = Schemas['ExecutionWhole'];

/** Where the time went: each visit as long as it took, one below the other. */
export function Trace({ execution, choose }: { execution: Whole; choose: (node: string) => void }) {
  const now = useNow().getTime();
  const visits = execution.nodes.toSorted(
    (one, other) => Date.parse(one.startedAt) - Date.parse(other.startedAt),
  );
  const [from, to] = spanOf(visits, now) ?? [0, 1];
  const whole = Math.max(1, to - from);
  return (
    <>
      <p className="inline">
        <span className="quiet">Trace</span> <CopyId id={execution.traceId} whole />
      </p>
      {visits.length === 0 && <p className="quiet">Nothing has happened yet.</p>}
      <ol className="spans">
        {visits.map((visit) => {
          const began = Date.parse(visit.startedAt);
          const ended = visit.completedAt ? Date.parse(visit.completedAt) : now;
          const place = {
            left: `${((began - from) / whole) * 100}%`,
            width: `${((ended - began) / whole) * 100}%`,
          };
          return (
            <li key={`${visit.nodeId} ${visit.visit} ${visit.itemKey}`}>
              <button type="button" className="link strong cut" onClick={() => choose(visit.nodeId)}>
                {visit.nodeId}
                {visit.visit > 1 && ` · visit ${visit.visit}`}
              </button>
              <span className="quiet">
                {wordOf(visit.status)}, {lengthOf(ended - began)}
              </span>
              <span className="span-track" aria-hidden="true">
                <span className={`span ${kindOf(visit.status)[0]}`} style={place} />
              </span>
            </li>
          );
        })}
      </ol>
    </>
  );
}
