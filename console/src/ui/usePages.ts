import { useInfiniteQuery } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';

export interface Page<Row> {
  readonly items: readonly Row[];
  readonly nextCursor: string | null;
}

/** A keyset-paged list, page after page as it is asked for. */
export function usePages<Row>(
  key: readonly unknown[],
  fetch: (cursor?: string) => Promise<Page<Row>>,
  every?: number,
) {
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
  const rows = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  const { fetchNextPage, isFetchingNextPage } = query;
  const fetchMore = useCallback(() => {
    if (!isFetchingNextPage) void fetchNextPage();
  }, [fetchNextPage, isFetchingNextPage]);
  return { ...query, rows, more: query.hasNextPage, fetchMore };
}
