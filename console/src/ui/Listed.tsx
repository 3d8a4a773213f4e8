import type { ReactNode } from 'react';
import { type Column, List, Skeleton } from './List';
import { Problem } from './Problem';
import type { usePages } from './usePages';

interface Props<Row> {
  readonly label: string;
  readonly pages: ReturnType<typeof usePages<Row>>;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  readonly href?: (row: Row) => string;
  readonly onOpen?: (row: Row) => void;
  readonly chosen?: ReadonlySet<string>;
  readonly choose?: (keys: ReadonlySet<string>) => void;
  readonly empty: ReactNode;
}

/** A paged list in whatever state it is: on its way, refused, empty, or there. */
export function Listed<Row>({ pages, empty, ...list }: Props<Row>) {
  if (pages.isPending) return <Skeleton />;
  if (pages.error && pages.rows.length === 0)
    return <Problem error={pages.error} again={() => pages.refetch()} />;
  if (pages.rows.length === 0) return empty;
  return <List {...list} rows={pages.rows} gone={pages.gone} more={pages.more} fetchMore={pages.fetchMore} />;
}
