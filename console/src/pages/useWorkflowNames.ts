import { useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { api, got } from '../api/client';

/** From a workflow's id to its name and key, for what only has the id. */
export function useWorkflowNames(): (id: string) => { name: string; key: string } {
  const { data } = useQuery({
    queryKey: ['workflows', 'names'],
    queryFn: () => got(api.GET('/api/workflow', { params: { query: { limit: 200 } } })),
    staleTime: 60_000,
  });
  return useCallback(
    (id: string) => data?.items.find((each) => each.id === id) ?? { name: `…${id.slice(-8)}`, key: id },
    [data],
  );
}
