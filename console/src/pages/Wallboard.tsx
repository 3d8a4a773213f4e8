import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { Link } from 'wouter';
import { api, got, type Schemas } from '../api/client';
import { lostSince } from '../api/connection';
import { useStore } from '../api/store';
import { BACK, type Told } from '../api/stream';
import { useLive } from '../api/useLive';
import { Empty } from '../ui/Empty';
import { Skeleton } from '../ui/List';
import { Page } from '../ui/Page';
import { Problem } from '../ui/Problem';
import { Status } from '../ui/Status';
import { Countdown, useNow } from '../ui/Time';
import { useFilters } from '../ui/useFilters';
import { useFit } from './useFit';
import './watch.css';

type Board = Schemas['BoardShape'];
type Entry = Schemas['BoardEntry'];
type Stage = Schemas['TileShape'];
const WORST = ['red', 'amber', 'green'];

/** How everything stands that is watched: readable from across the room, and live. */
export default function Wallboard() {
  const queries = useQueryClient();
  const whole = useRef<HTMLDivElement>(null);
  const [filters, set] = useFilters();
  // In the address: a wall shows it again after a power cut, and nobody has to press anything.
  const wall = filters.view === 'wall';
  const { data, error, refetch } = useQuery({
    queryKey: ['wallboard'],
    queryFn: () => got(api.GET('/wallboard')),
    refetchInterval: 30_000,
  });
  useLive('/api/stream?topics=wallboard', ({ event, data: told }: Told) => {
    if (event === BACK) return;
    const { workflows, gone } = told as Schemas['BoardChanged'];
    if (gone.length) void refetch();
    queries.setQueryData<Board>(
      ['wallboard'],
      (board) => board && { ...board, workflows: merged(board.workflows, workflows) },
    );
  });
  useEffect(() => {
    const changed = () => document.fullscreenElement === null && set({ view: undefined });
    document.addEventListener('fullscreenchange', changed);
    return () => document.removeEventListener('fullscreenchange', changed);
  }, [set]);
  const fill = () => {
    set({ view: 'wall' });
    // Where that is not allowed, the page alone is filled.
    void document.documentElement.requestFullscreen().catch(() => undefined);
  };
  const leave = () => {
    if (document.fullscreenElement) void document.exitFullscreen();
    set({ view: undefined });
  };
  const shape = data?.workflows
    .map(({ key, groups }) => `${key} ${groups.map(({ nodes }) => nodes.map(marksOf).join('')).join(' ')}`)
    .join('\n');
  useFit(whole, wall, shape ?? '');
  return (
    <Page
      title="Wallboard"
      actions={
        <button type="button" className="button" onClick={fill}>
          Full screen
        </button>
      }
    >
      {error && !data && <Problem error={error} again={() => refetch()} />}
      {!data && !error && <Skeleton />}
      {data?.workflows.length === 0 && !wall && (
        <Empty title="Nothing is watched yet">
          <p className="quiet">
            Save a graph of events with deadlines (<code>POST /workflows</code>) and send events to{' '}
            <code>POST /ingest</code>; or give a workflow <code>watch: true</code>.
          </p>
        </Empty>
      )}
      <div ref={whole} className={wall ? 'board wall' : 'board'}>
        {wall && <Clock leave={leave} />}
        {wall && data?.workflows.length === 0 && <p>Nothing is watched yet.</p>}
        {data?.workflows.toSorted(worstFirst).map((entry) => (
          <Tile key={entry.key} entry={entry} />
        ))}
      </div>
    </Page>
  );
}

/** How many lines a stage takes. */
function marksOf({ late, failed }: Stage): number {
  return Number(late > 0) + Number(failed > 0);
}

function merged(shown: readonly Entry[], changed: readonly Entry[]): Entry[] {
  const now = new Map(shown.map((entry) => [entry.key, entry]));
  for (const entry of changed) now.set(entry.key, entry);
  return [...now.values()];
}

function worstFirst(one: Entry, other: Entry): number {
  return WORST.indexOf(one.status) - WORST.indexOf(other.status) || one.name.localeCompare(other.name);
}

function Clock({ leave }: { leave: () => void }) {
  const now = useNow();
  const since = useStore(lostSince);
  return (
    <p className="board-clock">
      {now.toLocaleTimeString()}{' '}
      {since && <span className="status warn">▲ old since {since.toLocaleTimeString()}</span>}
      <button type="button" className="link" onClick={leave}>
        Leave
      </button>
    </p>
  );
}

/** What has not come there, of this group. */
function itemsAt(workflow: string, node: string, group: string): string {
  return `/items?${new URLSearchParams({ workflow, node, ...(group ? { group } : {}) })}`;
}

/** What has been missing for longest, and what is expected next. */
function Due({ tiles }: { tiles: readonly Stage[] }) {
  const first = (of: (stage: Stage) => string | null) =>
    tiles
      .flatMap((stage) => {
        const at = of(stage);
        return at === null ? [] : [{ node: stage.node, at }];
      })
      .toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at))[0];
  const overdue = first((stage) => stage.overdueSince);
  const next = first((stage) => stage.nextDueAt);
  if (!overdue && !next) return <p className="quiet">nothing is awaited</p>;
  return (
    <p className="due">
      {overdue && (
        <span className="overdue">
          <span aria-hidden="true">■ </span>
          {overdue.node} <Countdown to={overdue.at} />
        </span>
      )}
      {next && (
        <span className="quiet">
          {next.node} <Countdown to={next.at} />
        </span>
      )}
    </p>
  );
}

function Tile({ entry }: { entry: Entry }) {
  const tiles = entry.groups.flatMap((group) => group.nodes);
  const sum = (name: 'inFlight' | 'late' | 'failed' | 'completed') =>
    tiles.reduce((total, tile) => total + tile[name], 0);
  return (
    <article className={`tile ${entry.status}`}>
      <header>
        <h2>
          <Link href={`/items?workflow=${encodeURIComponent(entry.key)}`}>{entry.name}</Link>
        </h2>
        <Status of={entry.status} />
      </header>
      <dl className="numbers">
        <div>
          <dt>in flight</dt>
          <dd>{sum('inFlight')}</dd>
        </div>
        <div className={sum('late') ? 'raised-late' : ''}>
          <dt>late</dt>
          <dd>{sum('late')}</dd>
        </div>
        <div className={sum('failed') ? 'raised-failed' : ''}>
          <dt>failed</dt>
          <dd>{sum('failed')}</dd>
        </div>
        <div>
          <dt>done</dt>
          <dd>{sum('completed')}</dd>
        </div>
      </dl>
      <Due tiles={tiles} />
      <div className="groups">
        {entry.groups.map((group) => (
          <div key={group.groupHash} className="strip-row">
            {group.group && (
              <span className="quiet cut">{Object.values(group.group).map(String).join(' · ')}</span>
            )}
            <ol className="strip">
              {group.nodes.map((tile) => (
                <li key={tile.node} className={tile.status}>
                  <Link href={itemsAt(entry.key, tile.node, group.groupHash)} title={tile.node}>
                    <span className="stage">{tile.node}</span>
                    <strong>{tile.inFlight}</strong>
                    {tile.late > 0 && <span className="late">▲ {tile.late}</span>}
                    {tile.failed > 0 && <span className="failed">■ {tile.failed}</span>}
                  </Link>
                </li>
              ))}
            </ol>
          </div>
        ))}
      </div>
    </article>
  );
}
