import { useMemo } from 'react';
import { api, got, type Schemas } from '../api/client';
import { CopyId } from '../ui/CopyId';
import { Empty } from '../ui/Empty';
import type { Column } from '../ui/List';
import { Listed } from '../ui/Listed';
import { Page } from '../ui/Page';
import { Status, wordOf } from '../ui/Status';
import { Time } from '../ui/Time';
import { usePages } from '../ui/usePages';
import { useWorkflowNames } from './useWorkflowNames';

type Trigger = Schemas['TriggerRow'];

export default function Triggers() {
  const named = useWorkflowNames();
  const pages = usePages(
    ['triggers'],
    (cursor) => got(api.GET('/api/workflow/triggers', { params: { query: { cursor, limit: 100 } } })),
    30_000,
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
        href={(row) => `/workflows/${encodeURIComponent(named(row.workflowId).key)}`}
        empty={
          <Empty title="Nothing is started from outside">
            <p className="quiet">
              Put a <code>TRIGGER</code> node at the start of a workflow: a webhook, an event by name, or a
              topic.
            </p>
          </Empty>
        }
      />
    </Page>
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
