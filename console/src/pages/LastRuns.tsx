import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { api, got } from '../api/client';
import { Problem } from '../ui/Problem';
import { Status } from '../ui/Status';
import { Time, Took } from '../ui/Time';

const SHOWN = 5;

/** What a schedule has started lately, and what became of it. */
export function LastRuns({ schedule }: { schedule: string }) {
  const { data, error } = useQuery({
    queryKey: ['executions', 'of', schedule],
    queryFn: () =>
      got(api.GET('/api/workflow/executions', { params: { query: { trigger: schedule, limit: SHOWN } } })),
    refetchInterval: 10_000,
  });
  if (error) return <Problem error={error} />;
  if (data?.items.length === 0) return <p className="quiet">It has started nothing yet.</p>;
  return (
    <>
      <ul className="stack">
        {data?.items.map((run) => (
          <li key={run.id} className="inline">
            <Status of={run.status} />
            <Link href={`/executions/${run.id}`}>
              <Time at={run.startedAt} />
            </Link>
            <span className="quiet">
              <Took from={run.startedAt} to={run.completedAt} />
            </span>
            {run.error && <span className="error-words">{run.error.message}</span>}
          </li>
        ))}
      </ul>
      {data?.nextCursor && <Link href={`/executions?trigger=${schedule}`}>All that it has started</Link>}
    </>
  );
}
