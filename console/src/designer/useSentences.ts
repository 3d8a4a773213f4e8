import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, got, type Schemas } from '../api/client';
import type { Flow, FlowNode } from '../graph/flow';
import { writeFlow } from '../graph/write';
import { bodyOf } from './definition-body';

export type Sentences = ReadonlyMap<string, string>;

const NONE: Sentences = new Map();

/** What each node does, in the server's words: of those that are as they were when it was asked. Only what is sound
 * can be asked about. */
export function useSentences(flow: Flow, sound: Flow | null): Sentences {
  const { data } = useQuery({
    queryKey: ['said', sound],
    queryFn: async () => ({ of: sound, drawing: await drawn(sound ?? flow) }),
    enabled: sound !== null && sound.nodes.length > 0,
    placeholderData: (before) => before,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 10_000,
  });
  return useMemo(() => {
    if (!data?.of) return NONE;
    const asked = new Map(data.of.nodes.map((node) => [node.id, node]));
    const steps = new Map(data.drawing.nodes.map(({ id, steps }) => [id, steps]));
    return new Map(
      flow.nodes.flatMap((node) => {
        const [first] = steps.get(node.id) ?? [];
        return first && isSame(node, asked.get(node.id)) ? [[node.id, first] as const] : [];
      }),
    );
  }, [flow, data]);
}

async function drawn(flow: Flow): Promise<Schemas['Drawing']> {
  const asked = { body: bodyOf(writeFlow(flow)), params: { query: { format: 'json' as const } } };
  return (await got(api.POST('/api/workflow/visualize', asked))) as Schemas['Drawing'];
}

function isSame(one: FlowNode, other: FlowNode | undefined): boolean {
  return one === other || (other !== undefined && JSON.stringify(one) === JSON.stringify(other));
}
