import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { api, got, type Schemas } from '../api/client';
import { useMay } from '../api/me';
import { useLive } from '../api/useLive';
import { CopyId } from '../ui/CopyId';
import { Dialog } from '../ui/Dialog';
import { Empty } from '../ui/Empty';
import { Choose } from '../ui/Filter';
import type { Column } from '../ui/List';
import { Listed } from '../ui/Listed';
import { News } from '../ui/News';
import { Page } from '../ui/Page';
import { Problem } from '../ui/Problem';
import { Reasoned } from '../ui/Reasoned';
import { Status } from '../ui/Status';
import { Countdown, Time } from '../ui/Time';
import { useFilters } from '../ui/useFilters';
import { usePages } from '../ui/usePages';
import { WaitFacts } from './WaitFacts';

type Wait = Schemas['EventWaitItem'];
const STATUSES: readonly Wait['status'][] = ['waiting', 'resuming', 'completed', 'timeout', 'failed'];

const COLUMNS: readonly Column<Wait>[] = [
  { title: 'Node', width: 'minmax(5rem, 1fr)', show: (row) => row.nodeId },
  { title: 'Status', width: '6.5rem', show: (row) => <Status of={row.status} /> },
  {
    title: 'Received',
    width: 'minmax(5rem, 1fr)',
    show: (row) => `${row.receivedEvents.length} of ${row.enabledEvents.length}`,
    wide: true,
  },
  {
    title: 'Needs',
    width: 'minmax(5rem, 1.5fr)',
    show: (row) => <span className="quiet">{row.neededEvents.join(', ') || '–'}</span>,
    wide: true,
  },
  {
    title: 'Deadline',
    width: '8rem',
    show: (row) =>
      row.status === 'waiting' ? (
        <Countdown to={row.expiresAt} from={row.createdAt} />
      ) : (
        <Time at={row.expiresAt} />
      ),
  },
  {
    title: 'Near misses',
    width: '6rem',
    show: (row) => (row.nearMisses ? <span className="status warn">▲ {row.nearMisses}</span> : '–'),
    wide: true,
  },
  { title: 'Execution', width: '7rem', show: (row) => <CopyId id={row.executionId} />, wide: true },
];

const keyOf = (row: Wait) => row.id;

export default function Waits() {
  const [filters, set] = useFilters();
  const status = filters.status as Wait['status'] | undefined;
  const pages = usePages(
    ['waits', status],
    (cursor) => got(api.GET('/api/waits', { params: { query: { status, cursor, limit: 100 } } })),
    { keyOf, every: 15_000 },
  );
  useLive('/api/stream?topics=executions', pages.soon);
  return (
    <Page
      title="Waits"
      actions={<News count={pages.news.size} show={pages.show} />}
      filters={
        <Choose
          label="Status"
          value={status ?? ''}
          options={STATUSES}
          set={(value) => set({ status: value })}
        />
      }
    >
      <Listed
        label="Waits"
        pages={pages}
        columns={COLUMNS}
        keyOf={keyOf}
        onOpen={(row) => set({ wait: row.id })}
        empty={
          <Empty title="Nobody waits for an event">
            <p className="quiet">
              A <code>wait_events</code> node waits for a callback, a message or both. What it needs, and what
              came close, is shown here.
            </p>
          </Empty>
        }
      />
      {filters.wait && <One id={filters.wait} close={() => set({ wait: undefined })} />}
    </Page>
  );
}

function One({ id, close }: { id: string; close: () => void }) {
  const wait = useQuery({
    queryKey: ['waits', 'one', id],
    queryFn: () => got(api.GET('/api/waits/{id}', { params: { path: { id } } })),
  });
  const [rearming, rearm] = useState(false);
  const mayOperate = useMay('operator');
  const queries = useQueryClient();
  return (
    <Dialog open close={close} title="Why does it wait?" wide>
      {wait.error && <Problem error={wait.error} />}
      {wait.data && (
        <div className="stack">
          <WaitFacts wait={wait.data} />
          <p className="inline">
            <Link href={`/executions/${wait.data.executionId}`} className="button">
              Open the execution
            </Link>
            {mayOperate && wait.data.status === 'timeout' && (
              <button type="button" className="button" onClick={() => rearm(true)}>
                Wait again
              </button>
            )}
          </p>
        </div>
      )}
      {rearming && (
        <Reasoned
          title="Wait again"
          what="It waits for the same events under the same ids for another hour. What came is kept, and nothing is called again."
          verb="Wait for another hour"
          close={() => rearm(false)}
          act={async (reason) => {
            await got(
              api.POST('/api/waits/{id}/rearm', {
                params: { path: { id } },
                body: { timeout: '1h', reason },
              }),
            );
            await queries.invalidateQueries({ queryKey: ['waits'] });
          }}
        />
      )}
    </Dialog>
  );
}
