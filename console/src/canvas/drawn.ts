/** Our flow as React Flow's nodes and edges: the one place where one becomes the other. */
import { type Edge, MarkerType } from '@xyflow/react';
import { edgeId, type Flow, labelOf, nameOf, portOf, startOf, waysOf, wordsOf } from '../graph/flow';
import { HEIGHT, type Layout, laneOf, type Place, WIDTH } from '../graph/layout';
import { says } from '../graph/says';
import type { CardNode, Fate } from './NodeCard';

/** As many nodes are all drawn, once: to draw those that come into sight takes longer than to move what is drawn. */
export const ALL_DRAWN = 600;

export interface TypeInfo {
  readonly title: string;
  readonly category: string;
}

export interface Drawing {
  readonly flow: Flow;
  readonly places: ReadonlyMap<string, Place>;
  readonly types: ReadonlyMap<string, TypeInfo>;
  readonly problems?: ReadonlyMap<string, { readonly errors: number; readonly warnings: number }>;
  /** What nodes do, in the server's words, as far as those are there. */
  readonly sentences?: ReadonlyMap<string, string>;
  readonly fates?: ReadonlyMap<string, Fate>;
  readonly editable: boolean;
}

export function drawnNodes(drawing: Drawing): CardNode[] {
  const { flow, places, types, problems, sentences, fates, editable } = drawing;
  const start = startOf(flow);
  return flow.nodes.map((node) => {
    const type = types.get(node.type.toUpperCase());
    const wrong = problems?.get(node.id);
    return {
      id: node.id,
      type: 'card',
      position: places.get(node.id) ?? { x: 0, y: 0 },
      width: WIDTH,
      height: HEIGHT,
      ariaLabel: `${nameOf(node)}, ${type?.title ?? node.type}${fates?.get(node.id) ? `, ${fates.get(node.id)?.status}` : ''}`,
      data: {
        name: nameOf(node),
        type: node.type,
        title: type?.title ?? (node.type || 'from a template'),
        category: type?.category ?? '',
        says: sentences?.get(node.id)?.replaceAll('`', '') ?? says(node),
        isStart: node.id === start,
        notes: typeof node.rest.notes === 'string' ? node.rest.notes : '',
        errors: wrong?.errors ?? 0,
        warnings: wrong?.warnings ?? 0,
        fate: fates?.get(node.id),
        editable,
      },
    };
  });
}

/** A way, and how far down its lane runs, where both its ends stand as they were laid out. */
export type WayEdge = Edge<{ readonly lane: number | undefined }, 'way'>;

export function drawnEdges({ flow, fates, lanes, moved }: Ways): WayEdge[] {
  const nodes = new Map(flow.nodes.map((node) => [node.id, node]));
  return waysOf(flow).map((edge, index) => {
    const isImplied = index >= flow.edges.length;
    const from = nodes.get(edge.from);
    const walked = fates?.has(edge.from) && fates.has(edge.to);
    const words = wordsOf(edge, from);
    return {
      id: edgeId(edge, index),
      type: 'way',
      source: edge.from,
      target: edge.to,
      sourceHandle: handleOf(portOf(edge)),
      label: isImplied ? 'in order' : labelOf(edge, from),
      data: { lane: moved?.has(edge.from) || moved?.has(edge.to) ? undefined : lanes.get(laneOf(edge)) },
      className: [edge.type, isImplied && 'implied', fates && (walked ? 'walked' : 'untrodden')]
        .filter(Boolean)
        .join(' '),
      ...(isImplied ? { selectable: false, deletable: false, focusable: false } : {}),
      markerEnd: { type: MarkerType.ArrowClosed, width: 16, height: 16 },
      ariaLabel: `${edge.from} leads to ${edge.to}${words && ` ${words}`}`,
    };
  });
}

interface Ways extends Pick<Drawing, 'flow' | 'fates'> {
  readonly lanes: Layout['lanes'];
  readonly moved?: ReadonlyMap<string, Place>;
}

function handleOf(port: string): string {
  return ['next', 'true', 'false', 'error'].includes(port) ? port : 'next';
}
