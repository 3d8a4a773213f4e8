import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { api, got, type Schemas } from '../api/client';
import { useMay } from '../api/me';
import { useLive } from '../api/useLive';
import { Empty } from '../ui/Empty';
import { Choose, Search } from '../ui/Filter';
import type { Column } from '../ui/List';
import { Listed } from '../ui/Listed';
import { Page } from '../ui/Page';
import { Reasoned } from '../ui/Reasoned';
import { Status } from '../ui/Status';
import { Time } from '../ui/Time';
import { say } from '../ui/toasts';
import { useFilters } from '../ui/useFilters';
import { usePages } from '../ui/usePages';
import { whatOf } from './alert-words';

type Alert = Schemas['AlertRow'];
type Action = Schemas['AlertAction'];
const STATES: readonly Alert['state'][] = ['open', 'ack', 'suppressed', 'resolved'];
const SEVERITIES: readonly Alert['severity'][] = ['amber', 'red'];

const COLUMNS: readonly Column<Alert>[] = [
  {
    title: 'What',
    width: 'minmax(6rem, 2fr)',
    show: (row) => whatOf(row),
  },
  { title: 'Severity', width: '5.5rem', show: (row) => <Status of={row.severity} /> },
  { title: 'State', width: '7rem', show: (row) => <Status of={row.state} /> },
  { title: 'Workflow', width: 'minmax(5rem, 1fr)', show: (row) => row.workflowKey, wide: true },
  {
    title: 'Item',
    width: 'minmax(5rem, 1fr)',
    show: (row) => (
      <Link href={`/items/${encodeURIComponent(row.correlationKey)}`}>{row.correlationKey}</Link>
    ),
    wide: true,
  },
  { title: 'Times', width: '3.5rem', show: (row) => row.count, wide: true },
  { title: 'Last', width: '6rem', show: (row) => <Time at={row.lastTriggeredAt} />, wide: true },
];

export default function Alerts() {
  const [filters, set] = useFilters();
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const [action, act] = useState<Action | null>(null);
  const [hours, setHours] = useState(1);
  const mayOperate = useMay('operator');
  const queries = useQueryClient();
  const state = filters.state as Alert['state'] | undefined;
  const severity = filters.severity as Alert['severity'] | undefined;
  const { q, workflow } = filters;
  const incident = filters.incident ? Number(filters.incident) : undefined;
  const pages = usePages(
    ['alerts', state, severity, q, workflow, incident],
    (cursor) =>
      got(
        api.GET('/alerts', {
          params: { query: { state, severity, q, workflow, incident, cursor, limit: 100 } },
        }),
      ),
    10_000,
  );
  const refresh = () => {
    void queries.invalidateQueries({ queryKey: ['alerts'] });
    void queries.invalidateQueries({ queryKey: ['incidents'] });
  };
  useLive('/api/stream?topics=wallboard', refresh);
  return (
    <Page
      title="Alerts"
      actions={
        chosen.size > 0 &&
        mayOperate && (
          <>
            <span className="quiet">{chosen.size} selected</span>
            {(['ack', 'suppress', 'resolve', 'reopen'] as const).map((each) => (
              <button key={each} type="button" className="button small" onClick={() => act(each)}>
                {VERBS[each]}
              </button>
            ))}
          </>
        )
      }
      filters={
        <>
          <Search label="How an item’s key begins" value={q ?? ''} set={(text) => set({ q: text })} />
          <Choose label="State" value={state ?? ''} options={STATES} set={(value) => set({ state: value })} />
          <Choose
            label="Severity"
            value={severity ?? ''}
            options={SEVERITIES}
            set={(value) => set({ severity: value })}
          />
          {incident !== undefined && (
            <button type="button" className="link" onClick={() => set({ incident: undefined })}>
              Of all incidents
            </button>
          )}
        </>
      }
    >
      {incident === undefined && <Incidents open={(id) => set({ incident: String(id) })} />}
      <Listed
        label="Alerts"
        pages={pages}
        columns={COLUMNS}
        keyOf={(row) => String(row.id)}
        href={(row) => `/items/${encodeURIComponent(row.correlationKey)}`}
        {...(mayOperate ? { chosen, choose } : {})}
        empty={
          <Empty title="Nothing is late, missing or out of order">
            <p className="quiet">What watched workflows miss becomes an alert here, one for each cause.</p>
          </Empty>
        }
      />
      {action && (
        <Reasoned
          title={`${VERBS[action]} ${chosen.size === 1 ? 'an alert' : `${chosen.size} alerts`}`}
          what={WHAT[action]}
          verb={`${VERBS[action]} ${chosen.size}`}
          close={() => act(null)}
          act={async (reason) => {
            const until =
              action === 'suppress' ? { until: new Date(Date.now() + hours * 3_600_000).toISOString() } : {};
            const ids = [...chosen].map(Number);
            await got(api.POST('/alerts/bulk', { body: { action, ids, reason, ...until } as never }));
            say(`${ids.length} dealt with`);
            choose(new Set());
            refresh();
          }}
        >
          {action === 'suppress' && (
            <label className="field">
              <span>For</span>
              <select
                className="input"
                value={hours}
                onChange={(event) => setHours(Number(event.target.value))}
              >
                {QUIET.map(([length, words]) => (
                  <option key={length} value={length}>
                    {words}
                  </option>
                ))}
              </select>
            </label>
          )}
        </Reasoned>
      )}
    </Page>
  );
}

const QUIET: readonly (readonly [hours: number, words: string])[] = [
  [1, 'an hour'],
  [4, 'four hours'],
  [12, 'twelve hours'],
  [24, 'a day'],
  [168, 'a week'],
];

const VERBS: Record<Action, string> = {
  ack: 'Acknowledge',
  suppress: 'Suppress',
  resolve: 'Resolve',
  reopen: 'Reopen',
};

const WHAT: Record<Action, string> = {
  ack: 'Others see that somebody is on it. They stay until they are resolved.',
  suppress: 'They keep quiet until then, and open again if it goes on.',
  resolve: 'They are over. What happens again opens them again.',
  reopen: 'They are open again.',
};

/** What has one cause, first: how many, since when. */
function Incidents({ open }: { open: (id: number) => void }) {
  const { data } = useQuery({
    queryKey: ['incidents'],
    queryFn: () => got(api.GET('/api/incidents', { params: { query: { state: 'open', limit: 6 } } })),
    refetchInterval: 10_000,
  });
  if (!data?.items.length) return null;
  return (
    <section className="cards" aria-label="Open incidents">
      {data.items.map((each) => (
        <button key={each.id} type="button" className="card" onClick={() => open(each.id)}>
          <span className="inline">
            <Status of={each.severity} />
            <strong>
              {each.count} × {whatOf(each)}
            </strong>
          </span>
          <span className="quiet">
            {[each.workflowKey, ...Object.values(each.group ?? {}).map(String)].join(' · ')}
          </span>
          <span className="quiet">
            since <Time at={each.firstTriggeredAt} />, last <Time at={each.lastTriggeredAt} />
          </span>
        </button>
      ))}
    </section>
  );
}
