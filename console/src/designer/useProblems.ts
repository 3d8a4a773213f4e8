import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, got, type ProblemEntry } from '../api/client';
import type { Flow } from '../graph/flow';
import { type Spot, spotAt, writeFlow } from '../graph/write';
import { useSettled } from '../ui/useSettled';
import { bodyOf } from './definition-body';

export interface Found extends ProblemEntry {
  readonly level: 'error' | 'warning';
  /** What it is about. */
  readonly spot: Spot;
  /** The node that it is about, or that the way leaves. */
  readonly node: string | null;
}

/** What the server finds wrong, a moment after each change. */
export function useProblems(flow: Flow): {
  readonly all: readonly Found[];
  readonly byNode: ByNode;
  /** The last that was looked at, if nothing was wrong with it. */
  readonly sound: Flow | null;
} {
  const settled = useSettled(flow);
  const { data } = useQuery({
    queryKey: ['validated', settled],
    queryFn: async () => ({
      flow: settled,
      verdict: await got(api.POST('/api/workflow/validate', { body: bodyOf(writeFlow(settled)) })),
    }),
    enabled: settled.nodes.length > 0,
    placeholderData: (before) => before,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 10_000,
  });
  return useMemo(() => {
    if (!data || flow.nodes.length === 0) return { all: [], byNode: new Map(), sound: null };
    const found =
      (level: Found['level']) =>
      (entry: ProblemEntry): Found => {
        const spot = spotAt(data.flow, entry.pointer);
        return { ...entry, level, spot, node: nodeOf(data.flow, spot) };
      };
    const all = [...data.verdict.errors.map(found('error')), ...data.verdict.warnings.map(found('warning'))];
    return { all, byNode: counted(all), sound: data.verdict.valid ? data.flow : null };
  }, [data, flow]);
}

type ByNode = ReadonlyMap<string, { readonly errors: number; readonly warnings: number }>;

function nodeOf(flow: Flow, spot: Spot): string | null {
  if (spot.kind === 'node') return spot.id;
  return spot.kind === 'edge' ? (flow.edges[spot.index]?.from ?? null) : null;
}

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
