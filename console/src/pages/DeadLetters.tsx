import { useState } from 'react';
import { api, got, type Schemas } from '../api/client';
import { useMay } from '../api/me';
import { CopyId } from '../ui/CopyId';
import { Empty } from '../ui/Empty';
import { Choose } from '../ui/Filter';
import type { Column } from '../ui/List';
import { Listed } from '../ui/Listed';
import { News } from '../ui/News';
import { Page } from '../ui/Page';
import { Status } from '../ui/Status';
import { Time } from '../ui/Time';
import { useFilters } from '../ui/useFilters';
import { usePages } from '../ui/usePages';
import { Many } from './Many';
import { type Action, type Letter, OneLetter } from './OneLetter';

const STATUSES: readonly Letter['status'][] = ['open', 'redriven', 'dismissed'];

const COLUMNS: readonly Column<Letter>[] = [
  { title: 'What went wrong', width: 'minmax(5rem, 2fr)', show: (row) => row.errorMessage || row.errorType },
  { title: 'Status', width: '6.5rem', show: (row) => <Status of={row.status} /> },
  { title: 'Kind', width: '6rem', show: (row) => row.kind, wide: true },
  { title: 'From', width: 'minmax(5rem, 1fr)', show: (row) => row.source, wide: true },
  { title: 'Key', width: '7rem', show: (row) => <CopyId id={row.key} />, wide: true },
  { title: 'When', width: '6rem', show: (row) => <Time at={row.createdAt} /> },
];

const keyOf = (row: Letter) => String(row.id);

export default function DeadLetters() {
  const [filters, set] = useFilters();
  const [open, setOpen] = useState<Letter | null>(null);
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const [everything, takeAll] = useState(false);
  const [action, act] = useState<Action | null>(null);
  const mayOperate = useMay('operator');
  const status = filters.status as Letter['status'] | undefined;
  const pages = usePages(
    ['dead-letters', status, filters.source],
    (cursor) =>
      got(
        api.GET('/api/dead-letters', {
          params: { query: { status, source: filters.source, cursor, limit: 100 } },
        }),
      ),
    { keyOf, every: 15_000 },
  );
  const pick = (keys: ReadonlySet<string>) => {
    takeAll(false);
    choose(keys);
  };
  const filtered = status !== undefined || filters.source !== undefined;
  // All that are loaded are selected: then, all that match may be meant.
  const offered = filtered && pages.rows.length > 0 && chosen.size >= pages.rows.length;
  return (
    <Page
      title="Dead letters"
      actions={
        chosen.size > 0 ? (
          <>
            <span className="quiet">{everything ? 'All that match' : `${chosen.size} selected`}</span>
            {offered && !everything && (
              <button type="button" className="link" onClick={() => takeAll(true)}>
                Take all that match
              </button>
            )}
            <button type="button" className="button small" onClick={() => act('redrive')}>
              Redrive
            </button>
            <button type="button" className="button small" onClick={() => act('dismiss')}>
              Dismiss
            </button>
          </>
        ) : (
          <News count={pages.news.size} show={pages.show} />
        )
      }
      filters={
        <Choose
          label="Status"
          value={status ?? ''}
          options={STATUSES}
          set={(value) => set({ status: value })}
        />
      }
    >
      <Reasons
        letters={pages.rows}
        more={pages.more}
        source={filters.source}
        only={(source) => set({ source })}
        take={mayOperate ? (ids) => pick(new Set(ids)) : null}
      />
      <Listed
        label="Dead letters"
        pages={pages}
        columns={COLUMNS}
        keyOf={keyOf}
        onOpen={setOpen}
        {...(mayOperate ? { chosen, choose: pick } : {})}
        empty={
          <Empty title="Nothing has failed for good">
            <p className="quiet">
              What cannot be brought to its end lies here until somebody tries it again or lets it be.
            </p>
          </Empty>
        }
      />
      {open && (
        <OneLetter
          letter={open}
          close={() => {
            setOpen(null);
            void pages.show();
          }}
        />
      )}
      {action && (
        <ManyLetters
          action={action}
          chosen={pages.rows.filter((row) => chosen.has(keyOf(row)))}
          all={everything ? { status, source: filters.source } : null}
          close={() => act(null)}
          begun={() => {
            pick(new Set());
            void pages.show();
          }}
        />
      )}
    </Page>
  );
}

interface ManyProps {
  readonly action: Action;
  readonly chosen: readonly Letter[];
  /** All that match these, instead of those that were chosen. */
  readonly all: Schemas['LetterFilter'] | null;
  readonly close: () => void;
  readonly begun: () => void;
}

function ManyLetters({ action, chosen, all, close, begun }: ManyProps) {
  const [once] = useState({ chosen, all });
  const verb = action === 'redrive' ? 'Redrive' : 'Dismiss';
  const sources = [...new Set(once.chosen.map((letter) => letter.source))];
  const of = sources.length > 3 ? `${sources.length} sources` : sources.join(', ');
  const count = once.chosen.length === 1 ? 'a letter' : `${once.chosen.length} letters`;
  const matching = [once.all?.status, once.all?.source && `of ${once.all.source}`].filter(Boolean);
  const which = once.all ? `all letters that are ${matching.join(' and ')}` : `${count} of ${of}`;
  return (
    <Many
      of="letters"
      title={`${verb} ${which}`}
      what={
        action === 'redrive'
          ? `This will try again ${which}, each where it failed.`
          : `This will let ${which} be: nothing is tried again.`
      }
      verb={once.all ? `${verb} all` : `${verb} ${once.chosen.length}`}
      close={close}
      begun={begun}
      begin={(reason) =>
        got(
          api.POST('/api/dead-letters/bulk', {
            body: {
              action,
              reason,
              ...(once.all ? { filter: once.all } : { ids: once.chosen.map((letter) => letter.id) }),
            },
          }),
        )
      }
    />
  );
}

interface ReasonsProps {
  readonly letters: readonly Letter[];
  /** There are further ones that are not loaded: these are not all. */
  readonly more: boolean;
  readonly source: string | undefined;
  readonly only: (source: string | undefined) => void;
  readonly take: ((ids: readonly string[]) => void) | null;
}

/** Open letters of one cause, counted: usually they are dealt with together. */
function Reasons({ letters, more, source, only, take }: ReasonsProps) {
  const groups = new Map<string, Letter[]>();
  for (const letter of letters.filter((each) => each.status === 'open')) {
    const reason = `${letter.errorType}\n${letter.source}`;
    groups.set(reason, [...(groups.get(reason) ?? []), letter]);
  }
  const largest = [...groups.values()].toSorted((one, other) => other.length - one.length).slice(0, 6);
  if (source === undefined && largest.length < 2) return null;
  return (
    <section className="cards" aria-label="By reason">
      {largest.map((group) => {
        const [first] = group;
        if (!first) return null;
        return (
          <div key={`${first.errorType} ${first.source}`} className="card">
            <strong>
              {group.length}
              {more && ' or more'} × {first.errorType}
            </strong>
            <span className="quiet">in {first.source}</span>
            <span className="inline">
              {source === undefined && (
                <button type="button" className="link" onClick={() => only(first.source)}>
                  Only of {first.source}
                </button>
              )}
              {take && (
                <button
                  type="button"
                  className="link"
                  onClick={() => take(group.map((each) => String(each.id)))}
                >
                  Select {group.length}
                </button>
              )}
            </span>
          </div>
        );
      })}
      {source !== undefined && (
        <button type="button" className="link" onClick={() => only(undefined)}>
          Of all sources
        </button>
      )}
    </section>
  );
}
