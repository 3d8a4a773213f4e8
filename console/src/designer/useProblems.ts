import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, got, type ProblemEntry } from '../api/client';
import type { Flow } from '../graph/flow';
import { nodeAt, writeFlow } from '../graph/write';
import { useSettled } from '../ui/useSettled';

export interface Found extends ProblemEntry {
  readonly level: 'error' | 'warning';
  readonly node: string | null;
}

/** What the server finds wrong, a moment after each change. */
export function useProblems(flow: Flow): {
  readonly all: readonly Found[];
  readonly byNode: ByNode;
  readonly fresh: boolean;
} {
  const settled = useSettled(flow);
  const { data } = useQuery({
    queryKey: ['validated', settled],
    queryFn: async () => ({
      flow: settled,
      verdict: await got(api.POST('/api/workflow/validate', { body: writeFlow(settled) as never })),
    }),
    enabled: settled.nodes.length > 0,
    placeholderData: (before) => before,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 10_000,
  });
  return useMemo(() => {
    if (!data || flow.nodes.length === 0) return { all: [], byNode: new Map(), fresh: false };
    const found =
      (level: Found['level']) =>
      (entry: ProblemEntry): Found => ({ ...entry, level, node: nodeAt(data.flow, entry.pointer) });
    const all = [...data.verdict.errors.map(found('error')), ...data.verdict.warnings.map(found('warning'))];
    return { all, byNode: counted(all), fresh: data.flow === flow };
  }, [data, flow]);
}

type ByNode = ReadonlyMap<string, { readonly errors: number; readonly warnings: number }>;

function counted(all: readonly Found[]): ByNode {
  const counts = new Map<string, { errors: number; warnings: number }>();
  for (const { node, level } of all) {
    if (node === null) continue;
    const count = counts.get(node) ?? { errors: 0, warnings: 0 };
    counts.set(node, count);
    count[level === 'error' ? 'errors' : 'warnings'] += 1;
  }
  return counts;
}
