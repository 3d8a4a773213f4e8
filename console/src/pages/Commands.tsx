import { Link } from 'wouter';
import { api, got, type Schemas } from '../api/client';
import { ByStatus } from '../ui/ByStatus';
import { CopyId } from '../ui/CopyId';
import { Dialog } from '../ui/Dialog';
import { Empty } from '../ui/Empty';
import { JsonTree } from '../ui/JsonTree';
import type { Column } from '../ui/List';
import { Status } from '../ui/Status';
import { Countdown, Time } from '../ui/Time';

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
  return (
    <ByStatus
      title="Commands"
      name="commands"
      statuses={STATUSES}
      columns={COLUMNS}
      fetch={(status, cursor) =>
        got(api.GET('/api/commands', { params: { query: { status, cursor, limit: 100 } } }))
      }
      keyOf={(row) => row.id}
      one={(command, close) => <One command={command} close={close} />}
      empty={
        <Empty title="No command has been sent">
          <p className="quiet">
            A <code>KAFKA_COMMAND</code> node sends a command and waits for its reply; each is listed here.
          </p>
        </Empty>
      }
    />
  );
}

function One({ command, close }: { command: Command; close: () => void }) {
  return (
    <Dialog open close={close} title={`Command to ${command.commandTopic}`} wide>
      <div className="stack">
        <p className="inline">
          <Status of={command.status} />{' '}
          {command.late && <span className="status warn">▲ its reply came late</span>}
          <Link href={`/executions/${command.workflowInstanceId}`}>Open the execution</Link>
        </p>
        {command.errorMessage && <p className="error-words">{command.errorMessage}</p>}
        <JsonTree name="command" value={command.commandPayload} />
        <JsonTree name="headers" value={command.commandHeaders} open={0} />
        {command.replyPayload !== null && <JsonTree name="reply" value={command.replyPayload} />}
      </div>
    </Dialog>
  );
}
