import { api, got, type Schemas } from '../api/client';
import { ByStatus } from '../ui/ByStatus';
import { CopyId } from '../ui/CopyId';
import { Empty } from '../ui/Empty';
import type { Column } from '../ui/List';
import { Status } from '../ui/Status';
import { Time } from '../ui/Time';

type Message = Schemas['OutboxItem'];
type MessageStatus = Schemas['MessageStatus'];
const STATUSES: readonly MessageStatus[] = ['pending', 'published', 'refused'];

const COLUMNS: readonly Column<Message>[] = [
  { title: 'Topic', width: 'minmax(5rem, 1.5fr)', show: (row) => row.topic },
  { title: 'Status', width: '7rem', show: (row) => <Status of={row.status} /> },
  { title: 'Key', width: 'minmax(5rem, 1fr)', show: (row) => row.key ?? '–', wide: true },
  { title: 'Of', width: '6rem', show: (row) => row.stream, wide: true },
  { title: 'Written', width: '6rem', show: (row) => <Time at={row.createdAt} /> },
  { title: 'Published', width: '6rem', show: (row) => <Time at={row.publishedAt} />, wide: true },
  {
    title: 'Error',
    width: 'minmax(5rem, 1fr)',
    show: (row) => <span className="error-words">{row.error}</span>,
    wide: true,
  },
  { title: 'Message', width: '7rem', show: (row) => <CopyId id={row.messageId} />, wide: true },
];

export default function Outbox() {
  return (
    <ByStatus
      title="Outbox"
      name="outbox"
      statuses={STATUSES}
      columns={COLUMNS}
      fetch={(status, cursor) =>
        got(api.GET('/api/outbox', { params: { query: { status, cursor, limit: 100 } } }))
      }
      keyOf={(row) => String(row.id)}
      empty={
        <Empty title="Nothing is on its way out">
          <p className="quiet">
            Messages are written with what they tell of, and published from here in their order.
          </p>
        </Empty>
      }
    />
  );
}
