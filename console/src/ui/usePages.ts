import { type InfiniteData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { begun, followed, type Still } from './still';

export interface Page<Row> {
  readonly items: readonly Row[];
  readonly nextCursor: string | null;
}

interface Following<Row> {
  /** By which rows are known again: they keep their places, and what is new is counted until it is asked for. */
  readonly keyOf?: (row: Row) => string;
  /** Read again after so many milliseconds. */
  readonly every?: number;
}

/** A keyset-paged list, page after page as it is asked for. */
export function usePages<Row>(
  key: readonly unknown[],
  fetch: (cursor?: string) => Promise<Page<Row>>,
  { keyOf, every }: Following<Row> = {},
) {
  const queries = useQueryClient();
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => fetch(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor ?? undefined,
    // All pages are read again: the more there are, the more seldom.
    refetchInterval: ({ state }) => (every ? every * (state.data?.pages.length ?? 1) : false),
    // Comparing every row that was ever loaded with itself, for each page that comes, is what takes long here.
    structuralSharing: false,
  });
  const { fetchNextPage, isFetchingNextPage, refetch, hasNextPage } = query;
  const found = useMemo(() => (query.data ? rowsOf(query.data) : []), [query.data]);
  const [still, adopt] = useStill(JSON.stringify(key), found, keyOf, hasNextPage);
  const fetchMore = useCallback(() => {
    if (!isFetchingNextPage) void fetchNextPage();
  }, [fetchNextPage, isFetchingNextPage]);
  // From the top: what was loaded below it would have to be read again, page after page.
  const show = async () => {
    queries.setQueryData<InfiniteData<Page<Row>>>(
      key,
      (data) => data && { pages: data.pages.slice(0, 1), pageParams: data.pageParams.slice(0, 1) },
    );
    const { data } = await refetch();
    if (data) adopt(rowsOf(data));
  };
  const soon = useSoon(refetch, query.data?.pages.length ?? 1);
  return { ...query, ...still, more: hasNextPage, fetchMore, show, soon };
}

function rowsOf<Row>({ pages }: InfiniteData<Page<Row>>): readonly Row[] {
  return pages.flatMap((page) => page.items);
}

/** Read again shortly, once, however often that is asked for meanwhile; the more there is, the later. */
function useSoon(refetch: () => unknown, pages: number): () => void {
  const waiting = useRef<ReturnType<typeof setTimeout> | null>(null);
  useEffect(
    () => () => {
      if (waiting.current) clearTimeout(waiting.current);
      waiting.current = null;
    },
    [],
  );
  return useCallback(() => {
    waiting.current ??= setTimeout(
      () => {
        waiting.current = null;
        void refetch();
      },
      pages > 1 ? 1_000 * pages : 250,
    );
  }, [refetch, pages]);
}

/** The rows in their places, until somebody asks for what is new, or for another list. */
function useStill<Row>(
  name: string,
  found: readonly Row[],
  keyOf: ((row: Row) => string) | undefined,
  more: boolean,
): [Still<Row>, (rows: readonly Row[]) => void] {
  const [kept, keep] = useState({ name, found, still: begun(found) });
  let { still } = kept;
  if (kept.name !== name || kept.found !== found) {
    still = kept.name === name && keyOf ? followed(kept.still, found, keyOf, more) : begun(found);
    keep({ name, found, still });
  }
  const adopt = (rows: readonly Row[]) => keep({ name, found: rows, still: begun(rows) });
  return [still, adopt];
}
