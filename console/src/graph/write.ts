/** A flow into a definition, always in the same shape: head, nodes, and one entry for each way, drawn or implied. */
import {
  type Flow,
  type FlowEdge,
  type FlowNode,
  hasUnreadConfig,
  implied,
  type JsonObject,
  startOf,
} from './flow';

export function writeFlow(flow: Flow): JsonObject {
  const start = startOf(flow);
  const drawn = [...routed(flow), ...implied(flow)];
  return {
    workflow: flow.head,
    ...flow.rest,
    nodes: flow.nodes.map((node, index) => nodeEntry(node, index + 1, node.id === start)),
    routing: [...drawn.map(entryOf), ...(flow.unread ?? [])],
  };
}

/** What a node says of its errors stands in the node. */
function routed(flow: Flow): readonly FlowEdge[] {
  return flow.edges.filter((edge) => edge.type !== 'error');
}

function nodeEntry(node: FlowNode, nodeOrder: number, isStart: boolean): JsonObject {
  const { isStartNode: _, name, ...rest } = node.rest;
  const config =
    node.rest.nodeTemplateId !== undefined && node.rest.overrideConfig === undefined
      ? 'overrideConfig'
      : 'config';
  return {
    id: node.id,
    ...(node.type ? { type: node.type } : {}),
    ...(name === undefined ? {} : { name }),
    nodeOrder,
    ...(isStart ? { isStartNode: true } : {}),
    ...rest,
    ...(hasUnreadConfig(rest) ? {} : { [config]: node.config }),
  };
}

function entryOf(edge: FlowEdge): JsonObject {
  const ends = { fromNodeId: edge.from, toNodeId: edge.to, type: edge.type };
  if (edge.type === 'conditional')
    return { ...ends, condition: edge.condition ?? '', value: edge.value !== false, ...edge.rest };
  if (edge.type === 'switch') {
    const which = edge.isDefault ? { default: true } : { value: edge.value };
    return { ...ends, expression: edge.expression ?? '', ...which, ...edge.rest };
  }
  return { ...ends, ...edge.rest };
}

/** What a pointer into what `writeFlow` writes is about; `text`: what is written there cannot be drawn. */
export type Spot =
  | { readonly kind: 'node'; readonly id: string }
  | { readonly kind: 'edge'; readonly index: number }
  | { readonly kind: 'flow' }
  | { readonly kind: 'text' };

export function spotAt(flow: Flow, pointer: string): Spot {
  const node = flow.nodes[Number(/^\/nodes\/(\d+)/.exec(pointer)?.[1])];
  if (node) return { kind: 'node', id: node.id };
  const route = /^\/routing\/(\d+)/.exec(pointer)?.[1];
  if (route === undefined) return { kind: 'flow' };
  const edge = routed(flow)[Number(route)];
  if (edge) return { kind: 'edge', index: flow.edges.indexOf(edge) };
  const chained = implied(flow)[Number(route)];
  return chained ? { kind: 'node', id: chained.from } : { kind: 'text' };
}
