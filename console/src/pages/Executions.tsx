import { type InfiniteData, useMutation, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useState } from 'react';
import { api, got, type Schemas } from '../api/client';
import { useMay } from '../api/me';
import type { Told } from '../api/stream';
import { useLive } from '../api/useLive';
import { CopyId } from '../ui/CopyId';
import { Empty } from '../ui/Empty';
import { Choose, Search } from '../ui/Filter';
import type { Column } from '../ui/List';
import { Listed } from '../ui/Listed';
import { Page } from '../ui/Page';
import { Reasoned } from '../ui/Reasoned';
import { Status } from '../ui/Status';
import { Time, Took } from '../ui/Time';
import { say } from '../ui/toasts';
import { useFilters } from '../ui/useFilters';
import { type Page as PageOf, usePages } from '../ui/usePages';

type Execution = Schemas['ExecutionItem'];
type ExecutionStatus = Schemas['ExecutionStatus'];
type Action = 'pause' | 'resume' | 'cancel' | 'retry' | 'replay';

const STATUSES: readonly ExecutionStatus[] = [
  'RUNNING',
  'WAITING',
  'PAUSED',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
];
const ACTIONS: readonly Action[] = ['pause', 'resume', 'cancel', 'retry', 'replay'];

const COLUMNS: readonly Column<Execution>[] = [
  { title: 'Workflow', width: 'minmax(5rem, 1.6fr)', show: (row) => row.key },
  { title: 'Status', width: '6.5rem', show: (row) => <Status of={row.status} /> },
  { title: 'Where, or why', width: 'minmax(6rem, 2fr)', show: (row) => <Where row={row} />, wide: true },
  { title: 'Started', width: '6rem', show: (row) => <Time at={row.startedAt} /> },
  {
    title: 'Took',
    width: '6rem',
    show: (row) => <Took from={row.startedAt} to={row.completedAt} />,
    wide: true,
  },
  { title: 'Version', width: '3.5rem', show: (row) => row.version, wide: true },
  { title: 'Id', width: '6rem', show: (row) => <CopyId id={row.id} />, wide: true },
];

function Where({ row }: { row: Execution }) {
  if (row.error) return <span className="error-words">{row.error.message}</span>;
  if (row.currentNodeId) return <span className="quiet">at {row.currentNodeId}</span>;
  return row.tags.map((tag) => (
    <span key={tag} className="tag">
      {tag}
    </span>
  ));
}

export default function Executions() {
  const [filters, set] = useFilters();
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const [action, act] = useState<Action | null>(null);
  const mayOperate = useMay('operator');
  const query = {
    status: filters.status as ExecutionStatus | undefined,
    workflow: filters.workflow,
    trigger: filters.trigger,
    tag: filters.tag,
    q: filters.q,
  };
  const key = ['executions', query] as const;
  const pages = usePages(key, (cursor) =>
    got(api.GET('/api/workflow/executions', { params: { query: { ...query, cursor, limit: 100 } } })),
  );
  const fresh = useNews(key, pages.rows, query);
  const labels = Object.entries(query).filter(([, value]) => value);
  return (
    <Page
      title="Executions"
      actions={
        chosen.size > 0 && mayOperate ? (
          <>
            <span className="quiet">{chosen.size} selected</span>
            {ACTIONS.map((each) => (
              <button key={each} type="button" className="button small" onClick={() => act(each)}>
                {each}
              </button>
            ))}
          </>
        ) : (
          fresh.count > 0 && (
            <button type="button" className="button small news" onClick={fresh.show}>
              {fresh.count} new or changed: show
            </button>
          )
        )
      }
      filters={
        <>
          <Search label="Words in what it is about" value={query.q ?? ''} set={(q) => set({ q })} />
          <Choose
            label="Status"
            value={query.status ?? ''}
            options={STATUSES}
            set={(status) => set({ status })}
          />
          <Search label="Workflow’s key" value={query.workflow ?? ''} set={(workflow) => set({ workflow })} />
          {labels.length > 0 && (
            <button
              type="button"
              className="link"
              onClick={() => set({ status: '', workflow: '', trigger: '', tag: '', q: '' })}
            >
              Clear filters
            </button>
          )}
        </>
      }
    >
      <Listed
        label="Executions"
        pages={pages}
        columns={COLUMNS}
        keyOf={(row) => row.id}
        href={(row) => `/executions/${row.id}`}
        {...(mayOperate ? { chosen, choose } : {})}
        empty={
          <Empty title={labels.length ? 'No execution is like that' : 'Nothing has run yet'}>
            <p className="quiet">
              {labels.length
                ? 'Change the filters, or clear them.'
                : 'Open a workflow and run it; triggers and schedules start them, too.'}
            </p>
          </Empty>
        }
      />
      {action && (
        <Many action={action} ids={[...chosen]} close={() => act(null)} done={() => choose(new Set())} />
      )}
    </Page>
  );
}

interface Wanted {
  readonly status: ExecutionStatus | undefined;
  readonly workflow: string | undefined;
  readonly trigger: string | undefined;
  readonly tag: string | undefined;
  readonly q: string | undefined;
}

/** Whether the list would show it. What words it has only the server knows: then, none is said to. */
function fits(row: Execution, { status, workflow, trigger, tag, q }: Wanted): boolean {
  return (
    !q &&
    (!status || row.status === status) &&
    (!workflow || row.key === workflow || row.workflowId === workflow) &&
    (!trigger || row.triggerId === trigger) &&
    (!tag || row.tags.includes(tag))
  );
}

/** Rows that are shown change in place; what would move them is counted, and shown when asked. */
function useNews(key: readonly unknown[], rows: readonly Execution[], wanted: Wanted) {
  const queries = useQueryClient();
  const [news, setNews] = useState<ReadonlySet<string>>(new Set());
  // From the top: what was loaded below it would have to be read again, page after page.
  const show = useCallback(() => {
    setNews(new Set());
    queries.setQueryData<InfiniteData<PageOf<Execution>>>(
      key,
      (data) => data && { pages: data.pages.slice(0, 1), pageParams: data.pageParams.slice(0, 1) },
    );
    void queries.invalidateQueries({ queryKey: ['executions'] });
  }, [queries, key]);
  useLive('/api/stream?topics=executions', ({ data }: Told) => {
    const changed = new Map((data as Schemas['ExecutionsChanged']).items.map((each) => [each.id, each]));
    const known = new Set(rows.map((row) => row.id));
    const unknown = [...changed.values()].filter((row) => !known.has(row.id) && fits(row, wanted));
    queries.setQueryData<InfiniteData<PageOf<Execution>>>(key, (data) => data && patched(data, changed));
    if (!unknown.length) return;
    // An empty list has nothing that could jump.
    if (rows.length === 0) show();
    else setNews((before) => new Set([...before, ...unknown.map((row) => row.id)]));
  });
  // What was counted for other filters is not news under these.
  const filters = JSON.stringify(wanted);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is for when they change
  useEffect(() => setNews(new Set()), [filters]);
  return { count: news.size, show };
}

function patched(data: InfiniteData<PageOf<Execution>>, changed: ReadonlyMap<string, Execution>) {
  const pages = data.pages.map((page) =>
    page.items.some((row) => changed.has(row.id))
      ? { ...page, items: page.items.map((row) => changed.get(row.id) ?? row) }
      : page,
  );
  return pages.every((page, index) => page === data.pages[index]) ? data : { ...data, pages };
}

function Many({
  action,
  ids,
  close,
  done,
}: {
  action: Action;
  ids: string[];
  close: () => void;
  done: () => void;
}) {
  const queries = useQueryClient();
  const acting = useMutation({
    mutationFn: (reason: string) =>
      got(api.POST('/api/workflow/executions/bulk', { body: { action, ids, reason } as never })),
    onSuccess: (job) => {
      say(`${action}: ${job.total} under way`);
      done();
      void queries.invalidateQueries({ queryKey: ['executions'] });
    },
  });
  return (
    <Reasoned
      title={`${action[0]?.toUpperCase()}${action.slice(1)} ${ids.length} executions`}
      what={`This will ${action} the ${ids.length} executions that you selected, one after the other. Those whose state does not allow it are left alone.`}
      verb={`${action} ${ids.length}`}
      harmful={action === 'cancel'}
      close={close}
      act={(reason) => acting.mutateAsync(reason)}
    />
  );
}
