import { useState } from 'react';
import { api, got, type Schemas } from '../api/client';
import { useMay } from '../api/me';
import { CopyId } from '../ui/CopyId';
import { Empty } from '../ui/Empty';
import { Choose, Search } from '../ui/Filter';
import type { Column } from '../ui/List';
import { Listed } from '../ui/Listed';
import { News } from '../ui/News';
import { Page } from '../ui/Page';
import { Status } from '../ui/Status';
import { Time, Took } from '../ui/Time';
import { useFilters } from '../ui/useFilters';
import { usePages } from '../ui/usePages';
import { Many } from './Many';
import { useExecutionNews } from './useExecutionNews';
import { useWorkflowNames } from './useWorkflowNames';

type Execution = Schemas['ExecutionItem'];
type ExecutionStatus = Schemas['ExecutionStatus'];
type Action = Exclude<Schemas['OnExecutions'], 'dismiss'>;

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

const keyOf = (row: Execution) => row.id;

export default function Executions() {
  const [filters, set] = useFilters();
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const [everything, takeAll] = useState(false);
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
  const pages = usePages(
    key,
    (cursor) =>
      got(api.GET('/api/workflow/executions', { params: { query: { ...query, cursor, limit: 100 } } })),
    { keyOf },
  );
  const news = useExecutionNews(key, pages, query);
  const labels = Object.entries(query).filter(([, value]) => value);
  const pick = (keys: ReadonlySet<string>) => {
    takeAll(false);
    choose(keys);
  };
  // All that are loaded are selected: then, all that match may be meant.
  const offered = labels.length > 0 && pages.rows.length > 0 && chosen.size >= pages.rows.length;
  return (
    <Page
      title="Executions"
      actions={
        chosen.size > 0 && mayOperate ? (
          <>
            <span className="quiet">{everything ? 'All that match' : `${chosen.size} selected`}</span>
            {offered && !everything && (
              <button type="button" className="link" onClick={() => takeAll(true)}>
                Take all that match
              </button>
            )}
            {ACTIONS.map((each) => (
              <button key={each} type="button" className="button small" onClick={() => act(each)}>
                {each}
              </button>
            ))}
          </>
        ) : (
          <News count={news.count} show={news.show} />
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
        keyOf={keyOf}
        href={(row) => `/executions/${row.id}`}
        {...(mayOperate ? { chosen, choose: pick } : {})}
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
        <ManyExecutions
          action={action}
          chosen={pages.rows.filter((row) => chosen.has(row.id))}
          all={everything ? query : null}
          close={() => act(null)}
          begun={() => {
            pick(new Set());
            pages.soon();
          }}
        />
      )}
    </Page>
  );
}

interface ManyProps {
  readonly action: Action;
  readonly chosen: readonly Execution[];
  /** All that match these, instead of those that were chosen. */
  readonly all: Schemas['ExecutionFilter'] | null;
  readonly close: () => void;
  readonly begun: () => void;
}

function ManyExecutions({ action, chosen, all, close, begun }: ManyProps) {
  const named = useWorkflowNames();
  const [once] = useState({ chosen, all });
  const verb = `${action[0]?.toUpperCase()}${action.slice(1)}`;
  const names = [...new Set(once.chosen.map((row) => named(row.workflowId).name))];
  const of = names.length > 3 ? `${names.length} workflows` : names.join(', ');
  const count = once.chosen.length === 1 ? 'an execution' : `${once.chosen.length} executions`;
  const matching = Object.entries(once.all ?? {}).flatMap(([name, value]) =>
    value ? [`${name} ${value}`] : [],
  );
  const which = once.all ? `all executions with ${matching.join(', ')}` : `${count} of ${of}`;
  return (
    <Many
      of="executions"
      title={`${verb} ${which}`}
      what={`This will ${action} ${which}, one after the other. Those whose state does not allow it are left alone.`}
      verb={once.all ? `${verb} all` : `${verb} ${once.chosen.length}`}
      harmful={action === 'cancel'}
      close={close}
      begun={begun}
      begin={(reason) =>
        got(
          api.POST('/api/workflow/executions/bulk', {
            body: {
              action,
              reason,
              ...(once.all ? { filter: once.all } : { ids: once.chosen.map((row) => row.id) }),
            },
          }),
        )
      }
    />
  );
}
