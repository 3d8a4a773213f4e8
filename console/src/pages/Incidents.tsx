import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, got } from '../api/client';
import { Status } from '../ui/Status';
import { Time } from '../ui/Time';
import { whatOf } from './alert-words';
import { Trend } from './Trend';

const [FIRST, MOST] = [6, 100];

/** What has one cause, first: what, how many, since when, and whether it gets worse. */
export function Incidents({ open }: { open: (id: number) => void }) {
  const [limit, setLimit] = useState(FIRST);
  const { data } = useQuery({
    queryKey: ['incidents', limit],
    queryFn: () => got(api.GET('/api/incidents', { params: { query: { state: 'open', limit } } })),
    refetchInterval: 10_000,
    placeholderData: (before) => before,
  });
  if (!data?.items.length) return null;
  return (
    <section className="cards" aria-label="Open incidents">
      {data.items.map((each) => (
        <button key={each.id} type="button" className="card" onClick={() => open(each.id)}>
          <span className="inline">
            <Status of={each.severity} />
            <strong>{each.count === 1 ? whatOf(each) : `${each.count} alerts at ${each.node}`}</strong>
          </span>
          {each.count > 1 && <span className="quiet">the first: {whatOf(each)}</span>}
          <span className="quiet">
            {[each.workflowKey, ...Object.values(each.group ?? {}).map(String)].join(' · ')}
          </span>
          <span className="quiet">
            since <Time at={each.firstTriggeredAt} />, last <Time at={each.lastTriggeredAt} />
          </span>
          <Trend version={each.workflowVersionId} node={each.node} group={each.groupHash} />
        </button>
      ))}
      {data.nextCursor && limit < MOST && (
        <button type="button" className="link" onClick={() => setLimit(MOST)}>
          There are more open incidents: show them
        </button>
      )}
      {data.nextCursor && limit >= MOST && <p className="quiet">The newest {MOST} of them are shown.</p>}
    </section>
  );
}
