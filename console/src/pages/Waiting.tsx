import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { api, got, type Schemas } from '../api/client';
import { Problem } from '../ui/Problem';
import { Countdown } from '../ui/Time';
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
        </section>
      ))}
    </div>
  );
}

function Events({ id }: { id: string }) {
  const { data, error } = useQuery({
    queryKey: ['waits', 'one', id],
    queryFn: () => got(api.GET('/api/waits/{id}', { params: { path: { id } } })),
    refetchInterval: 5_000,
  });
  if (error) return <Problem error={error} />;
  return data ? <WaitFacts wait={data} /> : null;
}

function Other({ wait }: { wait: Wait }) {
  return (
    <>
      <p className="note">{wait.explanation ?? WORDS[wait.kind] ?? `It waits: ${wait.kind}.`}</p>
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

const WORDS: Record<string, string> = {
  approval: 'Somebody has to decide.',
  child: 'Another execution has to end first.',
  doubt: 'It is not known whether this was done. Look at the far side, and say so.',
  delay: 'It rests until its time has come.',
};
