import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { api, got, type Schemas } from '../api/client';
import { useMay } from '../api/me';
import { isObject, type JsonObject } from '../graph/flow';
import { ByStatus } from '../ui/ByStatus';
import { Dialog } from '../ui/Dialog';
import { Empty } from '../ui/Empty';
import { JsonTree } from '../ui/JsonTree';
import type { Column } from '../ui/List';
import { Reasoned } from '../ui/Reasoned';
import { Status } from '../ui/Status';
import { Countdown, Time } from '../ui/Time';
import { say } from '../ui/toasts';
import { AnswerForm } from './AnswerForm';

type Approval = Schemas['ApprovalItem'];
const STATUSES: readonly Approval['status'][] = ['OPEN', 'APPROVED', 'REJECTED', 'EXPIRED', 'CANCELLED'];

const COLUMNS: readonly Column<Approval>[] = [
  {
    title: 'What is asked',
    width: 'minmax(5rem, 2fr)',
    show: (row) => row.title ?? row.message ?? row.nodeId,
  },
  { title: 'Status', width: '6.5rem', show: (row) => <Status of={row.status} /> },
  {
    title: 'Who decides',
    width: 'minmax(5rem, 1fr)',
    show: (row) => row.assignees.join(', ') || 'any operator',
    wide: true,
  },
  { title: 'Asked', width: '6rem', show: (row) => <Time at={row.createdAt} />, wide: true },
  {
    title: 'Until',
    width: '8rem',
    show: (row) =>
      row.expiresAt && row.status === 'OPEN' ? <Countdown to={row.expiresAt} from={row.createdAt} /> : '–',
    wide: true,
  },
  { title: 'Decided by', width: '8rem', show: (row) => row.decidedBy ?? '–', wide: true },
];

export default function Approvals() {
  return (
    <ByStatus
      title="Approvals"
      name="approvals"
      statuses={STATUSES}
      columns={COLUMNS}
      fetch={(status, cursor) =>
        got(api.GET('/api/approvals', { params: { query: { status, cursor, limit: 100 } } }))
      }
      keyOf={(row) => row.id}
      one={(approval, close) => <One approval={approval} close={close} />}
      empty={
        <Empty title="Nobody is asked anything">
          <p className="quiet">
            An <code>APPROVAL</code> node asks people to decide; what they are asked comes here.
          </p>
        </Empty>
      }
    />
  );
}

function One({ approval, close }: { approval: Approval; close: () => void }) {
  const [decision, decide] = useState<'approve' | 'reject' | null>(null);
  const [form, setForm] = useState<JsonObject>({});
  const mayOperate = useMay('operator');
  const queries = useQueryClient();
  const asked = isObject(approval.formSchema) ? approval.formSchema : null;
  return (
    <Dialog open close={close} title={approval.title ?? 'To be decided'} wide>
      <div className="stack">
        {approval.message && <p className="note">{approval.message}</p>}
        <p className="inline">
          <Status of={approval.status} />
          <Link href={`/executions/${approval.executionId}`}>Open the execution</Link>
          {approval.reason && <span className="quiet">{approval.reason}</span>}
        </p>
        {asked && approval.status === 'OPEN' && <AnswerForm schema={asked} value={form} change={setForm} />}
        {asked && approval.status !== 'OPEN' && <JsonTree name="asked" value={asked} open={0} />}
        {approval.form !== null && <JsonTree name="answer" value={approval.form} />}
        {mayOperate && approval.status === 'OPEN' && (
          <p className="inline">
            <button type="button" className="button primary" onClick={() => decide('approve')}>
              Approve
            </button>
            <button type="button" className="button harm" onClick={() => decide('reject')}>
              Reject
            </button>
          </p>
        )}
      </div>
      {decision && (
        <Reasoned
          title={decision === 'approve' ? 'Approve' : 'Reject'}
          what="The execution goes on with your decision, which stands for good."
          verb={decision === 'approve' ? 'Approve' : 'Reject'}
          harmful={decision === 'reject'}
          close={() => decide(null)}
          act={async (reason) => {
            const answer = asked && decision === 'approve' ? { form } : {};
            const body = { decision, reason, ...answer };
            await got(
              api.POST('/api/approvals/{id}/decide', { params: { path: { id: approval.id } }, body }),
            );
            say(decision === 'approve' ? 'Approved' : 'Rejected');
            await queries.invalidateQueries({ queryKey: ['approvals'] });
            close();
          }}
        />
      )}
    </Dialog>
  );
}
