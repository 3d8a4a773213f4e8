import { useState } from 'react';
import { Link } from 'wouter';
import { api, got, type Schemas } from '../api/client';
import { CopyId } from '../ui/CopyId';
import { Dialog } from '../ui/Dialog';
import { Empty } from '../ui/Empty';
import { Choose } from '../ui/Filter';
import { JsonTree } from '../ui/JsonTree';
import type { Column } from '../ui/List';
import { Listed } from '../ui/Listed';
import { Page } from '../ui/Page';
import { Status } from '../ui/Status';
import { Countdown, Time } from '../ui/Time';
import { useFilters } from '../ui/useFilters';
import { usePages } from '../ui/usePages';

type Command = Schemas['CommandItem'];
const STATUSES: readonly Command['status'][] = [
  'PENDING',
  'SENT',
  'REPLY_RECEIVED',
  'TIMEOUT',
  'ERROR',
  'REFUSED',
  'CANCELLED',
];

const COLUMNS: readonly Column<Command>[] = [
  { title: 'Topic', width: 'minmax(5rem, 1.5fr)', show: (row) => row.commandTopic },
  { title: 'Status', width: '8rem', show: (row) => <Status of={row.status} /> },
  { title: 'Step', width: 'minmax(5rem, 1fr)', show: (row) => row.stepId, wide: true },
  { title: 'Sent', width: '6rem', show: (row) => <Time at={row.sentAt} /> },
  {
    title: 'Reply by',
    width: '8rem',
    show: (row) =>
      row.timeoutAt && row.status === 'SENT' ? (
        <Countdown to={row.timeoutAt} from={row.sentAt ?? undefined} />
      ) : (
        '–'
      ),
    wide: true,
  },
  { title: 'Attempt', width: '4rem', show: (row) => row.attempt, wide: true },
  { title: 'Correlation', width: '7rem', show: (row) => <CopyId id={row.correlationId} />, wide: true },
];

export default function Commands() {
  const [filters, set] = useFilters();
  const [open, setOpen] = useState<Command | null>(null);
  const status = filters.status as Command['status'] | undefined;
  const pages = usePages(
    ['commands', status],
    (cursor) => got(api.GET('/api/commands', { params: { query: { status, cursor, limit: 100 } } })),
    10_000,
  );
  return (
    <Page
      title="Commands"
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
        label="Commands"
        pages={pages}
        columns={COLUMNS}
        keyOf={(row) => row.id}
        onOpen={setOpen}
        empty={
          <Empty title="No command has been sent">
            <p className="quiet">
              A <code>KAFKA_COMMAND</code> node sends a command and waits for its reply; each is listed here.
            </p>
          </Empty>
        }
      />
      {open && (
        <Dialog open close={() => setOpen(null)} title={`Command to ${open.commandTopic}`} wide>
          <div className="stack">
            <p className="inline">
              <Status of={open.status} />{' '}
              {open.late && <span className="status warn">▲ its reply came late</span>}
              <Link href={`/executions/${open.workflowInstanceId}`}>Open the execution</Link>
            </p>
            {open.errorMessage && <p className="error-words">{open.errorMessage}</p>}
            <JsonTree name="command" value={open.commandPayload} />
            <JsonTree name="headers" value={open.commandHeaders} open={0} />
            {open.replyPayload !== null && <JsonTree name="reply" value={open.replyPayload} />}
          </div>
        </Dialog>
      )}
    </Page>
  );
}
