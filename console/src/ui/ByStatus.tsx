import { type ReactNode, useState } from 'react';
import { Choose } from './Filter';
import type { Column } from './List';
import { Listed } from './Listed';
import { News } from './News';
import { Page } from './Page';
import { useFilters } from './useFilters';
import { type Page as Fetched, usePages } from './usePages';

interface Props<Row, Of extends string> {
  readonly title: string;
  /** By which what was fetched is known, to be fetched again. */
  readonly name: string;
  readonly statuses: readonly Of[];
  readonly columns: readonly Column<Row>[];
  readonly fetch: (status: Of | undefined, cursor?: string) => Promise<Fetched<Row>>;
  readonly keyOf: (row: Row) => string;
  readonly empty: ReactNode;
  readonly actions?: ReactNode;
  /** One that was opened, in a dialog. */
  readonly one?: (row: Row, close: () => void) => ReactNode;
}

/** A page with one list, filtered by status, whose rows can be opened. */
export function ByStatus<Row, Of extends string>(props: Props<Row, Of>) {
  const { title, name, statuses, columns, fetch, keyOf, one } = props;
  const [filters, set] = useFilters();
  const [open, setOpen] = useState<string | null>(null);
  const status = filters.status as Of | undefined;
  const pages = usePages([name, status], (cursor) => fetch(status, cursor), { keyOf, every: 10_000 });
  const chosen = pages.rows.find((row) => keyOf(row) === open);
  return (
    <Page
      title={title}
      actions={
        <>
          <News count={pages.news.size} show={pages.show} />
          {props.actions}
        </>
      }
      filters={
        <Choose
          label="Status"
          value={status ?? ''}
          options={statuses}
          set={(value) => set({ status: value })}
        />
      }
    >
      <Listed
        label={title}
        pages={pages}
        columns={columns}
        keyOf={keyOf}
        {...(one ? { onOpen: (row: Row) => setOpen(keyOf(row)) } : {})}
        empty={props.empty}
      />
      {chosen && one?.(chosen, () => setOpen(null))}
    </Page>
  );
}
