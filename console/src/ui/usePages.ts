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
    refetchInterval: every ?? false,
  });
  const rows = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  const { fetchNextPage, isFetchingNextPage } = query;
  const fetchMore = useCallback(() => {
    if (!isFetchingNextPage) void fetchNextPage();
  }, [fetchNextPage, isFetchingNextPage]);
  return { ...query, rows, more: query.hasNextPage, fetchMore };
}
