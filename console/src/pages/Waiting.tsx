import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { api, got, type Schemas } from '../api/client';
import { useMay } from '../api/me';
import { Problem } from '../ui/Problem';
import { Reasoned } from '../ui/Reasoned';
import { Countdown } from '../ui/Time';
import { Worded } from '../ui/Worded';
import { objectOf } from './StartDialog';
import { WaitFacts } from './WaitFacts';

type Whole = Schemas['ExecutionWhole'];
type Wait = Whole['waits'][number];

/** Everything that it is parked on, and what would make it go on. */
export function Waiting({ execution }: { execution: Whole }) {
  if (!execution.waits.length) return <p className="quiet">It waits for nothing.</p>;
  return (
    <div className="stack">
      {execution.waits.map((wait) => (
        <section key={`${wait.nodeId} ${wait.id}`} className="stack">
          <h3>{wait.nodeId}</h3>
          {wait.enabledEvents && wait.id ? <Events id={wait.id} /> : <Other wait={wait} />}
          {wait.kind === 'doubt' && <Doubt execution={execution.id} node={wait.nodeId} />}
        </section>
      ))}
    </div>
  );
}

function Events({ id }: { id: string }) {
  const { data, error } = useQuery({
    queryKey: ['waits', 'one', id],
    queryFn: () => got(api.GET('/api/waits/{id}', { params: { path: { id } } })),
  });
  if (error) return <Problem error={error} />;
  return data ? <WaitFacts wait={data} /> : null;
}

function Other({ wait }: { wait: Wait }) {
  return (
    <>
      <p className="note">
        <Worded text={wait.explanation ?? WORDS[wait.kind] ?? `It waits: ${wait.kind}.`} />
      </p>
      {wait.expiresAt && (
        <p>
          <Countdown to={wait.expiresAt} />
        </p>
      )}
      {wait.kind === 'approval' && <Link href="/approvals?status=OPEN">Decide it</Link>}
      {wait.kind === 'child' && wait.id && <Link href={`/executions/${wait.id}`}>Open the child</Link>}
    </>
  );
}

/** Nobody knows whether it was done: somebody looks, and says so. */
function Doubt({ execution, node }: { execution: string; node: string }) {
  const [outcome, say] = useState<'done' | 'redo' | null>(null);
  const [output, setOutput] = useState('');
  const mayOperate = useMay('operator');
  const queries = useQueryClient();
  if (!mayOperate) return null;
  return (
    <>
      <p className="inline">
        <button type="button" className="button small" onClick={() => say('done')}>
          It was done
        </button>
        <button type="button" className="button small" onClick={() => say('redo')}>
          Do it again
        </button>
      </p>
      {outcome && (
        <Reasoned
          title={outcome === 'done' ? `${node} was done` : `Do ${node} again`}
          what={
            outcome === 'done'
              ? 'It goes on after this node, which is not done again.'
              : 'The node is done again. If it was done after all, the far side gets it twice, with the same key.'
          }
          verb={outcome === 'done' ? 'It was done' : 'Do it again'}
          close={() => say(null)}
          act={async (reason) => {
            const came = outcome === 'done' && output.trim() ? { output: objectOf(output) } : {};
            await got(
              api.POST('/api/workflow/executions/{id}/resume', {
                params: { path: { id: execution } },
                body: { reason, node, outcome, ...came },
              }),
            );
            await queries.invalidateQueries({ queryKey: ['execution', execution] });
          }}
        >
          {outcome === 'done' && (
            <label className="field">
              <span>What it came to</span>
              <textarea
                className="input"
                rows={3}
                placeholder='{"paymentId": "p-1"}'
                value={output}
                onChange={(event) => setOutput(event.target.value)}
              />
              <small>A JSON object, merged into the context; or nothing.</small>
            </label>
          )}
        </Reasoned>
      )}
    </>
  );
}

const WORDS: Record<string, string> = {
  approval: 'Somebody has to decide.',
  child: 'Another execution has to end first.',
  doubt: 'It is not known whether this was done. Look at the far side, and say so.',
  delay: 'It rests until its time has come.',
};
