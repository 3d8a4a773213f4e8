import type { Schemas } from '../api/client';
import { JsonTree } from '../ui/JsonTree';
import { changesOf } from './contexts';

/** The context as it is, and what each node has changed in it. */
export function Contexts({ execution }: { execution: Schemas['ExecutionWhole'] }) {
  const changed = execution.nodes.filter((visit) => Object.keys(changesOf(visit)).length > 0);
  return (
    <>
      <JsonTree value={execution.context} name="context" />
      {execution.output !== null && <JsonTree value={execution.output} name="output" open={1} />}
      <h3>What changed it</h3>
      <JsonTree value={execution.given} name="given at the start" open={1} />
      {changed.map((visit) => (
        <JsonTree
          key={`${visit.nodeId} ${visit.visit}`}
          value={changesOf(visit)}
          name={visit.visit > 1 ? `${visit.nodeId}, visit ${visit.visit}` : visit.nodeId}
          open={1}
        />
      ))}
      {changed.length === 0 && <p className="quiet">No node has changed anything in it.</p>}
    </>
  );
}
