import type { Schemas } from '../api/client';
import type { Flow } from '../graph/flow';
import { JsonTree } from '../ui/JsonTree';
import { kindOf, wordOf } from '../ui/Status';
import { Time, Took } from '../ui/Time';
import { foundBy } from './contexts';
import { WasTold } from './WasTold';

type Whole = Schemas['ExecutionWhole'];

interface Props {
  readonly execution: Whole;
  readonly chosen: string | null;
  readonly choose: (id: string | null) => void;
  /** The definition that it runs on, once it is there. */
  readonly flow: Flow | null;
}

/** Every visit of a node, as it came; the chosen node's with what it gave. */
export function Timeline({ execution, chosen, choose, flow }: Props) {
  const node = chosen ? flow?.nodes.find((each) => each.id === chosen) : undefined;
  const visits = execution.nodes.filter((visit) => !chosen || visit.nodeId === chosen);
  const last = visits.findLast((visit) => !visit.itemKey);
  // What goes on, or has failed, finds what is there now.
  const found = last?.status === 'completed' ? foundBy(execution, last) : execution.context;
  return (
    <>
      {chosen && (
        <p className="inline">
          Only <strong>{chosen}</strong>
          <button type="button" className="link" onClick={() => choose(null)}>
            show all
          </button>
        </p>
      )}
      {node && (
        <div className="stack">
          {typeof node.rest.notes === 'string' && <p className="note notes">{node.rest.notes}</p>}
          <WasTold
            config={node.config}
            context={found ?? execution.context}
            exact={last !== undefined && found !== null}
          />
        </div>
      )}
      {visits.length === 0 && <p className="quiet">Nothing has happened {chosen ? 'there' : ''} yet.</p>}
      <ol className="timeline">
        {visits.map((visit) => (
          <Visit
            key={`${visit.nodeId} ${visit.visit} ${visit.itemKey}`}
            visit={visit}
            open={chosen !== null}
            choose={() => choose(visit.nodeId)}
          />
        ))}
      </ol>
      {execution.moreNodes && <p className="quiet">There are more visits than are shown here.</p>}
      {execution.resumedBy && (
        <p className="quiet">
          Last resumed by <code>{execution.resumedBy}</code>
        </p>
      )}
    </>
  );
}

function Visit({
  visit,
  open,
  choose,
}: {
  visit: Whole['nodes'][number];
  open: boolean;
  choose: () => void;
}) {
  const [tone, shape] = kindOf(visit.status);
  const error = visit.error as { message?: string; type?: string } | null;
  return (
    <li>
      <span className={`dot ${tone}`} aria-hidden="true">
        {shape}
      </span>
      <div>
        <p className="inline">
          <button type="button" className="link strong" onClick={choose}>
            {visit.nodeId}
          </button>
          <span className={`status bare ${tone}`}>{wordOf(visit.status)}</span>
          {visit.visit > 1 && <span className="quiet">visit {visit.visit}</span>}
          {visit.attempt > 1 && <span className="quiet">attempt {visit.attempt}</span>}
          <span className="quiet">
            <Time at={visit.startedAt} /> · <Took from={visit.startedAt} to={visit.completedAt} />
          </span>
        </p>
        {error?.message && <p className="error-words">{error.message}</p>}
        {visit.warnings.map((warning) => (
          <p key={warning} className="warn-words">
            ▲ {warning}
          </p>
        ))}
        {visit.output !== null && visit.output !== undefined && (
          <JsonTree value={visit.output} name="output" open={open ? 2 : 0} />
        )}
      </div>
    </li>
  );
}
