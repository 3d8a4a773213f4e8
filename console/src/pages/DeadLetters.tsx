import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, got } from '../api/client';
import { useMay } from '../api/me';
import { CopyId } from '../ui/CopyId';
import { Empty } from '../ui/Empty';
import { Choose } from '../ui/Filter';
import type { Column } from '../ui/List';
import { Listed } from '../ui/Listed';
import { Page } from '../ui/Page';
import { Reasoned } from '../ui/Reasoned';
import { Status } from '../ui/Status';
import { Time } from '../ui/Time';
import { say } from '../ui/toasts';
import { useFilters } from '../ui/useFilters';
import { usePages } from '../ui/usePages';
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

export default function DeadLetters() {
  const [filters, set] = useFilters();
  const [open, setOpen] = useState<Letter | null>(null);
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const [action, act] = useState<Action | null>(null);
  const mayOperate = useMay('operator');
  const queries = useQueryClient();
  const status = filters.status as Letter['status'] | undefined;
  const pages = usePages(
    ['dead-letters', status, filters.source],
    (cursor) =>
      got(
        api.GET('/api/dead-letters', {
          params: { query: { status, source: filters.source, cursor, limit: 100 } },
        }),
      ),
    15_000,
  );
  const refresh = () => void queries.invalidateQueries({ queryKey: ['dead-letters'] });
  return (
    <Page
      title="Dead letters"
      actions={
        chosen.size > 0 && (
          <>
            <span className="quiet">{chosen.size} selected</span>
            <button type="button" className="button small" onClick={() => act('redrive')}>
              Redrive
            </button>
            <button type="button" className="button small" onClick={() => act('dismiss')}>
              Dismiss
            </button>
          </>
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
        source={filters.source}
        only={(source) => set({ source })}
        take={mayOperate ? (ids) => choose(new Set(ids)) : null}
      />
      <Listed
        label="Dead letters"
        pages={pages}
        columns={COLUMNS}
        keyOf={(row) => String(row.id)}
        onOpen={setOpen}
        {...(mayOperate ? { chosen, choose } : {})}
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
            refresh();
          }}
        />
      )}
      {action && (
        <Reasoned
          title={`${action === 'redrive' ? 'Redrive' : 'Dismiss'} ${chosen.size} letters`}
          what={
            action === 'redrive'
              ? `What these ${chosen.size} letters are about is tried again, each where it failed.`
              : `These ${chosen.size} letters are let be: nothing is tried again.`
          }
          verb={`${action} ${chosen.size}`}
          close={() => act(null)}
          act={async (reason) => {
            const ids = [...chosen].map(Number);
            const job = await got(
              api.POST('/api/dead-letters/bulk', { body: { action, ids, reason } as never }),
            );
            say(`${action}: ${job.total} under way`);
            choose(new Set());
            refresh();
          }}
        />
      )}
    </Page>
  );
}

interface ReasonsProps {
  readonly letters: readonly Letter[];
  readonly source: string | undefined;
  readonly only: (source: string | undefined) => void;
  readonly take: ((ids: readonly string[]) => void) | null;
}

/** Open letters of one cause, counted: usually they are dealt with together. */
function Reasons({ letters, source, only, take }: ReasonsProps) {
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
              {group.length} × {first.errorType}
            </strong>
            <span className="quiet">in {first.source}</span>
            <span className="inline">
              {source === undefined && (
                <button type="button" className="link" onClick={() => only(first.source)}>
                  Only these
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
