import { useQuery } from '@tanstack/react-query';
import { api, got, type Schemas } from '../api/client';
import { Dialog } from '../ui/Dialog';
import { Problem } from '../ui/Problem';
import { Status } from '../ui/Status';

type Target = 'executions' | 'letters';
type Job = Schemas['JobWhole'];
const SHOWN = 20;

interface Props {
  readonly of: Target;
  readonly id: string;
  readonly title: string;
  readonly close: () => void;
}

/** A job on many, and what became of each: followed until it is over. It goes on when this is closed. */
export function BulkJob({ of, id, title, close }: Props) {
  const job = useQuery({
    queryKey: ['bulk', of, id],
    queryFn: () => jobOf(of, id),
    refetchInterval: ({ state }) => (state.data?.status === 'running' ? 500 : false),
  });
  return (
    <Dialog open close={close} title={title}>
      <div className="stack">
        {job.error && <Problem error={job.error} />}
        {job.data && <Told job={job.data} />}
        {job.data && job.data.refused > 0 && <Refused of={of} id={id} count={job.data.refused} />}
        <footer>
          <button type="button" className="button primary" onClick={close}>
            Close
          </button>
        </footer>
      </div>
    </Dialog>
  );
}

function Told({ job }: { job: Job }) {
  return (
    <>
      <p className="inline" role="status">
        <Status of={job.status} />
        <span>
          {job.done} of {job.total} done
          {job.refused > 0 && `, ${job.refused} left alone`}
          {job.pending > 0 && `, ${job.pending} to come`}
        </span>
      </p>
      {job.pending > 0 && <p className="quiet">It goes on when you close this.</p>}
    </>
  );
}

/** Why some were left alone. */
function Refused({ of, id, count }: { of: Target; id: string; count: number }) {
  const { data } = useQuery({
    queryKey: ['bulk', of, id, 'refused', count],
    queryFn: () => refusedOf(of, id),
  });
  return (
    <ul className="stack">
      {data?.items.map((each) => (
        <li key={each.itemId}>
          <code>{each.itemId}</code> <span className="quiet">{each.reason}</span>
        </li>
      ))}
      {count > SHOWN && <li className="quiet">and {count - SHOWN} more</li>}
    </ul>
  );
}

function jobOf(of: Target, id: string): Promise<Job> {
  const params = { path: { id } };
  return of === 'executions'
    ? got(api.GET('/api/workflow/executions/bulk/{id}', { params }))
    : got(api.GET('/api/dead-letters/bulk/{id}', { params }));
}

function refusedOf(of: Target, id: string): Promise<Schemas['JobItemPage']> {
  const params = { path: { id }, query: { status: 'refused' as const, limit: SHOWN } };
  return of === 'executions'
    ? got(api.GET('/api/workflow/executions/bulk/{id}/items', { params }))
    : got(api.GET('/api/dead-letters/bulk/{id}/items', { params }));
}
