import { useQuery } from '@tanstack/react-query';
import { api, got } from '../api/client';
import { isObject } from '../graph/flow';
import { Problem } from '../ui/Problem';
import { Time } from '../ui/Time';

/** Who did what to an alert, and why. */
export function AlertHistory({ id }: { id: number }) {
  const { data, error } = useQuery({
    queryKey: ['audit', 'alert', id],
    queryFn: () =>
      got(
        api.GET('/api/audit', {
          params: { query: { entityType: 'alert', entityId: String(id), limit: 50 } },
        }),
      ),
  });
  if (error) return <Problem error={error} />;
  if (data?.items.length === 0) return <p className="quiet">Nobody has dealt with it yet.</p>;
  return (
    <ul className="stack">
      {data?.items.map((each) => (
        <li key={each.id}>
          <strong>{each.action}</strong> by {each.actor}, <Time at={each.createdAt} />
          {reasonOf(each.details) && <>: {reasonOf(each.details)}</>}
        </li>
      ))}
    </ul>
  );
}

function reasonOf(details: unknown): string {
  return isObject(details) && typeof details.reason === 'string' ? details.reason : '';
}
