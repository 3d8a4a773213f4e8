import * as Tabs from '@radix-ui/react-tabs';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { api, got, type Schemas } from '../api/client';
import { useLive } from '../api/useLive';
import { readFlow } from '../graph/read';
import { CopyId } from '../ui/CopyId';
import { JsonTree } from '../ui/JsonTree';
import { Skeleton } from '../ui/List';
import { Problem } from '../ui/Problem';
import { Status } from '../ui/Status';
import { Time, Took, useNow } from '../ui/Time';
import { exactly } from '../ui/time';
import { useFilters } from '../ui/useFilters';
import { Contexts } from './Contexts';
import { ExecutionActions } from './ExecutionActions';
import './execution.css';
import { fatesOf, spanOf } from './fates';
import { Timeline } from './Timeline';
import { Trace } from './Trace';
import { useWorkflowNames } from './useWorkflowNames';
import { Waiting } from './Waiting';

const LiveCanvas = lazy(() =>
  import('../canvas/LiveCanvas').then((module) => ({ default: module.LiveCanvas })),
);

type Whole = Schemas['ExecutionWhole'];
const ENDED = ['COMPLETED', 'FAILED', 'CANCELLED'];

export default function Execution({ id }: { id: string }) {
  const { data, error, refetch } = useExecution(id);
  useEffect(() => {
    document.title = `${data?.key ?? 'Execution'} · Muster`;
  }, [data?.key]);
  if (error && !data) return <Problem error={error} again={() => refetch()} />;
  if (!data) return <Skeleton />;
  return <Shown execution={data} />;
}

/** The execution, read again (soon, and not for each word) whenever its stream says that something changed. */
function useExecution(id: string) {
  const queries = useQueryClient();
  const key = ['execution', id];
  const query = useQuery({
    queryKey: key,
    queryFn: () => got(api.GET('/api/workflow/executions/{id}', { params: { path: { id } } })),
    // What was asked of it by hand takes effect between nodes, and the stream says nothing of that.
    refetchInterval: ({ state }) => (state.data?.pending.length ? 1_000 : false),
  });
  const soon = useRef<ReturnType<typeof setTimeout> | null>(null);
  // A stream ends with its execution; one that is tried again has another.
  const over = query.data !== undefined && ENDED.includes(query.data.status);
  useLive(over ? null : `/api/workflow/executions/${id}/events`, () => {
    soon.current ??= setTimeout(() => {
      soon.current = null;
      void queries.invalidateQueries({ queryKey: key });
      void queries.invalidateQueries({ queryKey: ['waits'] });
    }, 150);
  });
  return query;
}

function Shown({ execution }: { execution: Whole }) {
  const [filters, set] = useFilters();
  const [at, setAt] = useState<number | null>(null);
  const chosen = filters.node ?? null;
  const choose = (node: string | null) => set({ node: node ?? undefined });
  // Until somebody asks for something else: why it waits, as long as it does.
  const tab = tabOf(filters.tab, execution);
  const version = useQuery({
    queryKey: ['version', execution.workflowId, execution.version],
    queryFn: () =>
      got(
        api.GET('/api/workflow/{id}/versions/{number}', {
          params: { path: { id: execution.workflowId, number: execution.version } },
        }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const flow = useMemo(() => version.data && readFlow(version.data.definition)?.flow, [version.data]);
  const fates = useMemo(() => fatesOf(execution.nodes, execution.waits, at), [execution, at]);
  const look = (node: string | null) => {
    if (node === null) return choose(null);
    set({ node, tab: execution.waits.some((wait) => wait.nodeId === node) ? 'waiting' : 'timeline' });
  };
  return (
    <div className="execution">
      <Head execution={execution} />
      <div className="execution-body">
        <section className="execution-canvas" aria-label="What each node does">
          {version.error && <Problem error={version.error} />}
          <Suspense fallback={<Skeleton />}>
            {flow && <LiveCanvas flow={flow} fates={fates} chosen={chosen} choose={look} />}
          </Suspense>
          <Replay visits={execution.nodes} at={at} set={setAt} />
        </section>
        <Tabs.Root className="side" value={tab} onValueChange={(now) => set({ tab: now })}>
          <Tabs.List className="tabs" aria-label="About this execution">
            <Tabs.Trigger value="timeline">Timeline</Tabs.Trigger>
            <Tabs.Trigger value="context">Context</Tabs.Trigger>
            {execution.waits.length > 0 && <Tabs.Trigger value="waiting">Why is it waiting?</Tabs.Trigger>}
            <Tabs.Trigger value="trace">Trace</Tabs.Trigger>
            <Tabs.Trigger value="audit">By hand</Tabs.Trigger>
          </Tabs.List>
          <Tabs.Content value="timeline" tabIndex={-1}>
            <Timeline execution={execution} chosen={chosen} choose={choose} flow={flow ?? null} />
          </Tabs.Content>
          <Tabs.Content value="context" tabIndex={-1}>
            <Contexts execution={execution} />
          </Tabs.Content>
          <Tabs.Content value="trace" tabIndex={-1}>
            <Trace execution={execution} choose={(node) => set({ node, tab: 'timeline' })} />
          </Tabs.Content>
          <Tabs.Content value="waiting" tabIndex={-1}>
            <Waiting execution={execution} />
          </Tabs.Content>
          <Tabs.Content value="audit" tabIndex={-1}>
            <ByHand id={execution.id} />
          </Tabs.Content>
        </Tabs.Root>
      </div>
    </div>
  );
}

const TABS = ['timeline', 'context', 'waiting', 'trace', 'audit'];

function tabOf(asked: string | undefined, { status, waits }: Whole): string {
  if (asked === undefined || !TABS.includes(asked))
    return status === 'WAITING' && waits.length > 0 ? 'waiting' : 'timeline';
  return asked === 'waiting' && waits.length === 0 ? 'timeline' : asked;
}

function Head({ execution }: { execution: Whole }) {
  const [, go] = useLocation();
  const named = useWorkflowNames();
  return (
    <header className="execution-head">
      <div className="inline">
        <Status of={execution.status} />
        <h1>
          <Link href={`/workflows/${encodeURIComponent(execution.key)}`}>
            {named(execution.workflowId).name}
          </Link>
          <span className="quiet"> version {execution.version}</span>
        </h1>
        <CopyId id={execution.id} />
        <span className="quiet">
          started <Time at={execution.startedAt} />, {execution.completedAt ? 'took' : 'for'}{' '}
          <Took from={execution.startedAt} to={execution.completedAt} />
        </span>
        {execution.parentExecutionId && (
          <Link href={`/executions/${execution.parentExecutionId}`}>its parent</Link>
        )}
        {execution.triggerId && (
          <span className="quiet">
            by a <Link href={`/executions?trigger=${execution.triggerId}`}>trigger or schedule</Link>
          </span>
        )}
        {execution.idempotencyKey && (
          <span className="quiet">
            key <CopyId id={execution.idempotencyKey} whole />
          </span>
        )}
        {execution.tags.map((tag) => (
          <span key={tag} className="tag">
            {tag}
          </span>
        ))}
        {execution.held && execution.status !== 'PAUSED' && (
          <span className="status still">
            <span aria-hidden="true">‖</span> paused by hand
          </span>
        )}
        {execution.pending.map((each) => (
          <span key={each} className="status warn">
            ◌ {each} under way
          </span>
        ))}
        <div className="actions">
          <ExecutionActions execution={execution} replayed={(id) => go(`/executions/${id}`)} />
        </div>
      </div>
      {execution.held && (
        <p className="note" role="status">
          It was paused by hand, and goes on only when it is resumed, whatever comes or comes due.
        </p>
      )}
      {execution.error && (
        <div className="problem">
          <p>
            <span aria-hidden="true">✕ </span>
            {execution.error.message}
          </p>
          <p className="quiet">
            <code>{execution.error.type}</code>
            {execution.error.nodeId && <> at {execution.error.nodeId}</>}. Retry goes on from there, or from
            an earlier node, with changes to the context, or on another version; what was done before is not
            done again. Dismiss lets it be.
          </p>
        </div>
      )}
    </header>
  );
}

/** A slider over its life: the canvas shows how it was then. */
function Replay({
  visits,
  at,
  set,
}: {
  visits: Whole['nodes'];
  at: number | null;
  set: (at: number | null) => void;
}) {
  const span = spanOf(visits, useNow().getTime());
  if (!span || span[0] === span[1]) return null;
  return (
    <div className="replay">
      <input
        type="range"
        aria-label="Look back"
        min={span[0]}
        max={span[1]}
        step={Math.max(1, (span[1] - span[0]) / 500)}
        value={at ?? span[1]}
        onChange={(event) => {
          const moment = Number(event.target.value);
          set(moment >= span[1] ? null : moment);
        }}
      />
      {at === null ? (
        <span className="quiet">as it is now</span>
      ) : (
        <button type="button" className="link" onClick={() => set(null)}>
          {exactly(new Date(at))} · back to now
        </button>
      )}
    </div>
  );
}

function ByHand({ id }: { id: string }) {
  const { data, error } = useQuery({
    queryKey: ['audit', 'execution', id],
    queryFn: () =>
      got(
        api.GET('/api/audit', { params: { query: { entityType: 'execution', entityId: id, limit: 100 } } }),
      ),
  });
  if (error) return <Problem error={error} />;
  if (!data?.items.length) return <p className="quiet">Nobody has acted on it.</p>;
  return (
    <ul className="stack">
      {data.items.map((each) => (
        <li key={each.id} className="card">
          <p>
            <strong>{each.action}</strong> by {each.actor}, <Time at={each.createdAt} />
          </p>
          <JsonTree value={each.details} open={1} />
        </li>
      ))}
    </ul>
  );
}
