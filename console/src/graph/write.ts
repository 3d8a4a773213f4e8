/** A flow into a definition, always in the same shape: head, nodes, and one entry for each edge. */
import type { Flow, FlowEdge, FlowNode, JsonObject } from './flow';
import { startOf } from './flow';

export function writeFlow(flow: Flow): JsonObject {
  const start = startOf(flow);
  const routing = flow.edges.filter((edge) => edge.type !== 'error').map(entryOf);
  return {
    workflow: flow.head,
    ...flow.rest,
    nodes: flow.nodes.map((node, index) => nodeEntry(node, index + 1, node.id === start)),
    // Without any, each node would lead to the next: a single way back to itself would be no better.
    ...(routing.length || flow.nodes.length < 2 ? { routing } : {}),
  };
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
    [config]: node.config,
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

/** Where node and edge stand in what `writeFlow` writes, so that a pointer leads back to them. */
export function nodeAt(flow: Flow, pointer: string): string | null {
  const node = /^\/nodes\/(\d+)/.exec(pointer);
  if (node) return flow.nodes[Number(node[1])]?.id ?? null;
  const route = /^\/routing\/(\d+)/.exec(pointer);
  if (!route) return null;
  return flow.edges.filter((edge) => edge.type !== 'error')[Number(route[1])]?.from ?? null;
}
