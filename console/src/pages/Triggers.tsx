import { useMemo, useState } from 'react';
import { Link } from 'wouter';
import { api, got, type Schemas } from '../api/client';
import { CopyId } from '../ui/CopyId';
import { Dialog } from '../ui/Dialog';
import { Empty } from '../ui/Empty';
import { JsonTree } from '../ui/JsonTree';
import type { Column } from '../ui/List';
import { Listed } from '../ui/Listed';
import { Page } from '../ui/Page';
import { Status, wordOf } from '../ui/Status';
import { Time } from '../ui/Time';
import { usePages } from '../ui/usePages';
import { IdempotencyPreview } from './IdempotencyPreview';
import { useWorkflowNames } from './useWorkflowNames';

type Trigger = Schemas['TriggerRow'];

export default function Triggers() {
  const named = useWorkflowNames();
  const [open, setOpen] = useState<Trigger | null>(null);
  const pages = usePages(
    ['triggers'],
    (cursor) => got(api.GET('/api/workflow/triggers', { params: { query: { cursor, limit: 100 } } })),
    { every: 30_000 },
  );
  const columns = useMemo<Column<Trigger>[]>(
    () => [
      { title: 'Starts', width: 'minmax(5rem, 1.5fr)', show: (row) => named(row.workflowId).name },
      { title: 'Status', width: '6.5rem', show: (row) => <Status of={row.status} /> },
      { title: 'On', width: 'minmax(5rem, 1.5fr)', show: (row) => <On row={row} /> },
      { title: 'Who may', width: '6rem', show: (row) => row.authentication, wide: true },
      { title: 'If', width: 'minmax(5rem, 1fr)', show: (row) => <code>{row.condition}</code>, wide: true },
      { title: 'Changed', width: '6rem', show: (row) => <Time at={row.updatedAt} />, wide: true },
      { title: 'Id', width: '6rem', show: (row) => <CopyId id={row.id} />, wide: true },
    ],
    [named],
  );
  return (
    <Page title="Triggers">
      <Listed
        label="Triggers"
        pages={pages}
        columns={columns}
        keyOf={(row) => row.id}
        onOpen={setOpen}
        empty={
          <Empty title="Nothing is started from outside">
            <p className="quiet">
              Put a <code>TRIGGER</code> node at the start of a workflow: a webhook, an event by name, or a
              topic.
            </p>
          </Empty>
        }
      />
      {open && <One trigger={open} workflow={named(open.workflowId)} close={() => setOpen(null)} />}
    </Page>
  );
}

interface OneProps {
  readonly trigger: Trigger;
  readonly workflow: { name: string; key: string };
  readonly close: () => void;
}

function One({ trigger, workflow, close }: OneProps) {
  return (
    <Dialog open close={close} title={`What starts ${workflow.name}`} wide>
      <div className="stack">
        <p className="inline">
          <Status of={trigger.status} /> <On row={trigger} />
          <Link href={`/workflows/${encodeURIComponent(workflow.key)}`}>Open the workflow</Link>
        </p>
        {trigger.condition && (
          <p>
            If <code>{trigger.condition}</code>
          </p>
        )}
        {trigger.filter !== null && <JsonTree name="filter" value={trigger.filter} />}
        <IdempotencyPreview trigger={trigger} />
      </div>
    </Dialog>
  );
}

function On({ row }: { row: Trigger }) {
  const what = row.path ?? row.topic ?? row.triggerEventName;
  return (
    <>
      <span className="quiet">{wordOf(row.type)}</span> {what && <code>{what}</code>}
    </>
  );
}
