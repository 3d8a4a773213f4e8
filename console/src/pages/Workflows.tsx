import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { api, got, type Schemas } from '../api/client';
import { useMay } from '../api/me';
import { useLive } from '../api/useLive';
import { CopyId } from '../ui/CopyId';
import { Empty } from '../ui/Empty';
import { Choose, Search } from '../ui/Filter';
import { Icon } from '../ui/Icon';
import type { Column } from '../ui/List';
import { Listed } from '../ui/Listed';
import { Page } from '../ui/Page';
import { kindOf, Status, wordOf } from '../ui/Status';
import { Time } from '../ui/Time';
import { useFilters } from '../ui/useFilters';
import { usePages } from '../ui/usePages';
import { StartDialog } from './StartDialog';

type Workflow = Schemas['WorkflowRow'];
type Status_ = Workflow['status'];
const STATUSES: readonly Status_[] = ['ACTIVE', 'INACTIVE', 'DRAFT', 'ARCHIVED'];

export default function Workflows() {
  const [filters, set] = useFilters();
  const [, go] = useLocation();
  const [starting, start] = useState<Workflow | null>(null);
  const mayEdit = useMay('editor');
  const mayOperate = useMay('operator');
  const queries = useQueryClient();
  const q = filters.q;
  const status = filters.status as Status_ | undefined;
  const pages = usePages(['workflows', q, status], (cursor) =>
    got(api.GET('/api/workflow', { params: { query: { q, status, cursor, limit: 100 } } })),
  );
  useLive(
    '/api/stream?topics=executions',
    () => void queries.invalidateQueries({ queryKey: ['last-results'] }),
  );
  const next = useNext();
  const columns = useMemo<Column<Workflow>[]>(
    () => [
      { title: 'Name', width: 'minmax(5rem, 2.6fr)', show: (row) => row.name },
      { title: 'Status', width: '6.5rem', show: (row) => <Status of={row.status} /> },
      { title: 'Last results', width: '8.5rem', show: (row) => <LastResults id={row.id} />, wide: true },
      {
        title: 'Version',
        width: '5.5rem',
        show: (row) => <Versions row={row} />,
        wide: true,
      },
      {
        title: 'Kind',
        width: 'minmax(7rem, 0.8fr)',
        show: (row) => <Kind row={row} next={next.get(row.id)} />,
        wide: true,
      },
      {
        title: 'Key',
        width: 'minmax(6rem, 1.2fr)',
        show: (row) => <CopyId id={row.key} whole />,
        wide: true,
      },
      { title: 'Changed', width: '5.5rem', show: (row) => <Time at={row.updatedAt} />, wide: true },
      {
        title: 'Run',
        width: '3.5rem',
        show: (row) =>
          mayOperate && row.activeVersion !== null && row.status === 'ACTIVE' ? (
            <button
              type="button"
              className="button small"
              onClick={() => start(row)}
              aria-label={`Run ${row.name}`}
            >
              Run
            </button>
          ) : null,
      },
    ],
    [mayOperate, next],
  );
  return (
    <Page
      title="Workflows"
      actions={
        mayEdit && (
          <Link href="/workflows/new" className="button primary">
            <Icon name="plus" /> New workflow
          </Link>
        )
      }
      filters={
        <>
          <Search label="Part of a name or key" value={q ?? ''} set={(text) => set({ q: text })} />
          <Choose
            label="Status"
            value={status ?? ''}
            options={STATUSES}
            set={(value) => set({ status: value })}
          />
        </>
      }
    >
      <Listed
        label="Workflows"
        pages={pages}
        columns={columns}
        keyOf={(row) => row.id}
        href={(row) => `/workflows/${encodeURIComponent(row.key)}`}
        empty={
          q || status ? (
            <NothingFound clear={() => set({ q: undefined, status: undefined })} />
          ) : (
            <Beginning mayEdit={mayEdit} />
          )
        }
      />
      {starting && (
        <StartDialog
          workflow={starting}
          close={() => start(null)}
          started={(id) => {
            start(null);
            go(`/executions/${id}`);
          }}
        />
      )}
    </Page>
  );
}

/** Whether it does something, and when next by the clock; or looks on as others do. */
function Kind({ row, next }: { row: Workflow; next: string | undefined }) {
  if (row.kind === 'watched') return 'watches';
  return next ? (
    <>
      runs <Time at={next} />
    </>
  ) : (
    'runs'
  );
}

/** When the clock starts each workflow next, of those that it starts. */
function useNext(): ReadonlyMap<string, string> {
  const { data } = useQuery({
    queryKey: ['schedules', 'next'],
    queryFn: () => got(api.GET('/api/workflow/schedule', { params: { query: { limit: 200 } } })),
    refetchInterval: 60_000,
  });
  return useMemo(() => {
    const next = new Map<string, string>();
    for (const { workflowId, nextRunAt } of data?.items ?? []) {
      const known = next.get(workflowId);
      if (nextRunAt && (!known || nextRunAt < known)) next.set(workflowId, nextRunAt);
    }
    return next;
  }, [data]);
}

function Versions({ row }: { row: Workflow }) {
  if (row.activeVersion === null) return <span className="quiet">none active</span>;
  const ahead = row.latestVersion - row.activeVersion;
  return (
    <>
      {row.activeVersion}
      {ahead !== 0 && <span className="quiet"> of {row.latestVersion}</span>}
    </>
  );
}

/** The last ten, oldest first: shape and colour, with the word for who does not see them. */
function LastResults({ id }: { id: string }) {
  const last = useQuery({
    queryKey: ['last-results', id],
    queryFn: () =>
      got(api.GET('/api/workflow/executions', { params: { query: { workflow: id, limit: 10 } } })),
  }).data?.items;
  if (!last) return null;
  if (last.length === 0) return <span className="quiet">never ran</span>;
  const words = last.map((each) => wordOf(each.status));
  return (
    <span className="spark" role="img" aria-label={`Newest first: ${words.join(', ')}`}>
      {last.toReversed().map((each) => {
        const [tone, shape] = kindOf(each.status);
        return (
          <span key={each.id} className={tone} title={wordOf(each.status)}>
            {shape}
          </span>
        );
      })}
    </span>
  );
}

function NothingFound({ clear }: { clear: () => void }) {
  return (
    <Empty title="No workflow is like that">
      <button type="button" className="button" onClick={clear}>
        Show all
      </button>
    </Empty>
  );
}

function Beginning({ mayEdit }: { mayEdit: boolean }) {
  if (!mayEdit)
    return (
      <Empty title="Nothing runs here yet">
        <p className="quiet">
          A workflow is a chain of steps that survives crashes and restarts. Whoever has the role{' '}
          <code>editor</code> can make one; then it is shown here.
        </p>
      </Empty>
    );
  return (
    <Empty title="Nothing runs here yet">
      <p className="quiet">
        A workflow is a chain of steps that survives crashes and restarts. Begin with one of these.
      </p>
      <div className="cards">
        <Link href="/workflows/new?example=hello" className="card">
          <strong>Start from an example</strong>
          <span className="quiet">A wait for a callback, with a timeout: change it, save it, run it.</span>
        </Link>
        <Link href="/workflows/new?tab=text" className="card">
          <strong>Paste a definition</strong>
          <span className="quiet">JSON or YAML, in any of the shapes that Muster reads.</span>
        </Link>
        <Link href="/workflows/new" className="card">
          <strong>Begin on the canvas</strong>
          <span className="quiet">
            Drag steps, or press <kbd>n</kbd> and type.
          </span>
        </Link>
      </div>
      <p className="quiet">
        Or load the demo from a terminal: <code>muster demo load</code>
      </p>
    </Empty>
  );
}
