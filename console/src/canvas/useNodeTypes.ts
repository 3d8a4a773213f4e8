import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, got, type Schemas } from '../api/client';

export type NodeType = Schemas['NodeTypeRow'];

/** The types of node that there are; they change with the server's version and plug-ins only. */
export function useNodeTypes() {
  const { data, error } = useQuery({
    queryKey: ['node-types'],
    queryFn: () => got(api.GET('/api/workflow/node-types')),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const byName = useMemo(
    () => new Map((data?.items ?? []).map((type) => [type.name.toUpperCase(), type])),
    [data],
  );
  return { all: data?.items ?? [], byName, error };
}
