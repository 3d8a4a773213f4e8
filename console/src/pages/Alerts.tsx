import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { api, got, type Schemas } from '../api/client';
import { useMay } from '../api/me';
import { useLive } from '../api/useLive';
import { Empty } from '../ui/Empty';
import { Choose, Search } from '../ui/Filter';
import type { Column } from '../ui/List';
import { Listed } from '../ui/Listed';
import { News } from '../ui/News';
import { Page } from '../ui/Page';
import { Reasoned } from '../ui/Reasoned';
import { Status } from '../ui/Status';
import { Time } from '../ui/Time';
import { say } from '../ui/toasts';
import { useFilters } from '../ui/useFilters';
import { usePages } from '../ui/usePages';
import { alertedAs, whatOf } from './alert-words';
import { Incidents } from './Incidents';
import { OneAlert } from './OneAlert';

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
  },
  { title: 'Times', width: '3.5rem', show: (row) => row.count, wide: true },
  { title: 'Last', width: '6rem', show: (row) => <Time at={row.lastTriggeredAt} /> },
];

const keyOf = (row: Alert) => String(row.id);

export default function Alerts() {
  const [filters, set] = useFilters();
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const [everything, takeAll] = useState(false);
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
    { keyOf, every: 10_000 },
  );
  const shown = pages.rows.find((row) => keyOf(row) === filters.alert);
  const pick = (keys: ReadonlySet<string>) => {
    takeAll(false);
    choose(keys);
  };
  const query = { state, severity, q, workflow, incident };
  const filtered = Object.values(query).some((value) => value !== undefined);
  // All that are loaded are selected: then, all that match may be meant.
  const offered = filtered && pages.rows.length > 0 && chosen.size >= pages.rows.length;
  const which = everything
    ? `all alerts that are ${alertedAs(query)}`
    : chosen.size === 1
      ? 'an alert'
      : `${chosen.size} alerts`;
  useLive('/api/stream?topics=wallboard', () => {
    pages.soon();
    void queries.invalidateQueries({ queryKey: ['incidents'] });
  });
  return (
    <Page
      title="Alerts"
      actions={
        chosen.size > 0 && mayOperate ? (
          <>
            <span className="quiet">{everything ? 'All that match' : `${chosen.size} selected`}</span>
            {offered && !everything && (
              <button type="button" className="link" onClick={() => takeAll(true)}>
                Take all that match
              </button>
            )}
            {(['ack', 'suppress', 'resolve', 'reopen'] as const).map((each) => (
              <button key={each} type="button" className="button small" onClick={() => act(each)}>
                {VERBS[each]}
              </button>
            ))}
          </>
        ) : (
          <News count={pages.news.size} show={pages.show} />
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
        keyOf={keyOf}
        onOpen={(row) => set({ alert: keyOf(row) })}
        {...(mayOperate ? { chosen, choose: pick } : {})}
        empty={
          <Empty title="Nothing is late, missing or out of order">
            <p className="quiet">What watched workflows miss becomes an alert here, one for each cause.</p>
          </Empty>
        }
      />
      {action && (
        <Reasoned
          title={`${VERBS[action]} ${which}`}
          what={WHAT[action]}
          verb={everything ? `${VERBS[action]} all` : `${VERBS[action]} ${chosen.size}`}
          close={() => act(null)}
          act={async (reason) => {
            const until =
              action === 'suppress' ? { until: new Date(Date.now() + hours * 3_600_000).toISOString() } : {};
            const those = everything ? { filter: query } : { ids: [...chosen].map(Number) };
            const came = await got(
              api.POST('/alerts/bulk', { body: { action, reason, ...those, ...until } }),
            );
            say(dealtWith(came));
            pick(new Set());
            void pages.show();
            void queries.invalidateQueries({ queryKey: ['incidents'] });
            void queries.invalidateQueries({ queryKey: ['audit'] });
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
      {shown && <OneAlert alert={shown} close={() => set({ alert: undefined })} />}
    </Page>
  );
}

function dealtWith({ done, refused, more, results }: Schemas['BulkOnAlertsDone']): string {
  const why = results.find((each) => each.error)?.error;
  return [
    `${done} dealt with`,
    ...(refused ? [`${refused} left alone (${why})`] : []),
    ...(more ? ['there are more: do it again'] : []),
  ].join(', ');
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
