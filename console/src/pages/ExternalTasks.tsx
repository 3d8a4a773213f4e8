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

type Task = Schemas['ExternalTaskItem'];
const STATUSES: readonly Task['status'][] = ['OPEN', 'COMPLETED', 'FAILED', 'EXPIRED', 'CANCELLED'];

const COLUMNS: readonly Column<Task>[] = [
  { title: 'Topic', width: 'minmax(5rem, 1.5fr)', show: (row) => row.topic },
  { title: 'Status', width: '6.5rem', show: (row) => <Status of={row.status} /> },
  { title: 'Worker', width: 'minmax(5rem, 1fr)', show: (row) => <Worker task={row} /> },
  {
    title: 'Of',
    width: 'minmax(5rem, 1fr)',
    show: (row) => `${row.workflowKey} · ${row.nodeId}`,
    wide: true,
  },
  { title: 'Retries', width: '4rem', show: (row) => row.retries ?? '–', wide: true },
  { title: 'Offered', width: '6rem', show: (row) => <Time at={row.createdAt} />, wide: true },
  {
    title: 'Until',
    width: '8rem',
    show: (row) =>
      row.expiresAt && row.status === 'OPEN' ? <Countdown to={row.expiresAt} from={row.createdAt} /> : '–',
    wide: true,
  },
  { title: 'Id', width: '6rem', show: (row) => <CopyId id={row.id} />, wide: true },
];

function Worker({ task }: { task: Task }) {
  if (task.workerId) return task.workerId;
  return <span className="quiet">{task.status === 'OPEN' ? 'nobody yet' : '–'}</span>;
}

export default function ExternalTasks() {
  return (
    <ByStatus
      title="External tasks"
      name="external-tasks"
      statuses={STATUSES}
      columns={COLUMNS}
      fetch={(status, cursor) =>
        got(api.GET('/api/external-tasks', { params: { query: { status, cursor, limit: 100 } } }))
      }
      keyOf={(row) => row.id}
      one={(task, close) => <One task={task} close={close} />}
      empty={
        <Empty title="No work is offered to others">
          <p className="quiet">
            An <code>EXTERNAL_TASK</code> node offers its work under a topic; workers fetch it from{' '}
            <code>/engine-rest</code>, as they would from Camunda 7.
          </p>
        </Empty>
      }
    />
  );
}

function One({ task, close }: { task: Task; close: () => void }) {
  return (
    <Dialog open close={close} title={`Work for ${task.topic}`} wide>
      <div className="stack">
        <p className="inline">
          <Status of={task.status} />
          <Link href={`/executions/${task.executionId}`}>Open the execution</Link>
          {task.workerId && <span>{task.workerId}</span>}
          {task.workerId && task.lockUntil && task.status === 'OPEN' && <Countdown to={task.lockUntil} />}
        </p>
        {task.errorMessage && <p className="error-words">{task.errorMessage}</p>}
        {task.errorDetails && <pre className="code">{task.errorDetails}</pre>}
        <JsonTree name="variables" value={task.variables} />
      </div>
    </Dialog>
  );
}
