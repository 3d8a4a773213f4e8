/** Edits are data: what they do is a pure function, so undoing is keeping what was before. */
import { CONFIGS, type Flow, type FlowEdge, type FlowNode, isObject, type JsonObject } from './flow';

export type Edit =
  | { readonly kind: 'add'; readonly nodes: readonly FlowNode[]; readonly edges: readonly FlowEdge[] }
  | { readonly kind: 'remove'; readonly nodes: ReadonlySet<string>; readonly edges: ReadonlySet<number> }
  | { readonly kind: 'connect'; readonly edge: FlowEdge }
  | { readonly kind: 'edge'; readonly index: number; readonly edge: FlowEdge }
  | { readonly kind: 'ways'; readonly id: string; readonly edges: readonly FlowEdge[] }
  | { readonly kind: 'configure'; readonly id: string; readonly config: JsonObject }
  | { readonly kind: 'settle'; readonly id: string; readonly rest: JsonObject }
  | { readonly kind: 'rename'; readonly id: string; readonly to: string }
  | { readonly kind: 'head'; readonly head: JsonObject; readonly rest?: JsonObject }
  | { readonly kind: 'replace'; readonly flow: Flow };

export function apply(flow: Flow, edit: Edit): Flow {
  switch (edit.kind) {
    case 'add':
      return { ...flow, nodes: [...flow.nodes, ...edit.nodes], edges: [...flow.edges, ...edit.edges] };
    case 'remove':
      return removed(flow, edit.nodes, edit.edges);
    case 'connect':
      return connected(flow, edit.edge);
    case 'edge':
      return { ...flow, edges: flow.edges.map((edge, index) => (index === edit.index ? edit.edge : edge)) };
    case 'ways':
      return rerouted(flow, edit.id, edit.edges);
    case 'configure':
      return changed(flow, edit.id, (node) => configured(node, edit.config));
    case 'settle':
      return settled(flow, edit.id, edit.rest);
    case 'rename':
      return renamed(flow, edit.id, edit.to);
    case 'head':
      return { ...flow, head: edit.head, rest: edit.rest ?? flow.rest };
    case 'replace':
      return edit.flow;
  }
}

/** An id that nobody has: `send_email`, `send_email_2` … */
export function freshId(flow: Flow, type: string): string {
  const taken = new Set(flow.nodes.map((node) => node.id));
  const base = type.toLowerCase().replace(/[^a-z0-9]+/g, '_') || 'node';
  if (!taken.has(base)) return base;
  let number = 2;
  while (taken.has(`${base}_${number}`)) number += 1;
  return `${base}_${number}`;
}

function removed(flow: Flow, nodes: ReadonlySet<string>, edges: ReadonlySet<number>): Flow {
  const kept = flow.edges.filter(
    (edge, index) => !edges.has(index) && !nodes.has(edge.from) && !nodes.has(edge.to),
  );
  const left = flow.nodes.filter((node) => !nodes.has(node.id));
  return { ...flow, nodes: left.map((node) => withoutLostError(node, kept)), edges: kept };
}

/** Where an error goes is said by the node as well: both go together. */
function withoutLostError(node: FlowNode, edges: readonly FlowEdge[]): FlowNode {
  const { onError, ...rest } = node.rest;
  if (typeof onError !== 'object' || onError === null) return node;
  return edges.some((edge) => edge.type === 'error' && edge.from === node.id) ? node : { ...node, rest };
}

function connected(flow: Flow, edge: FlowEdge): Flow {
  const same = (other: FlowEdge) =>
    other.from === edge.from &&
    other.to === edge.to &&
    other.type === edge.type &&
    other.value === edge.value;
  if (flow.edges.some(same)) return flow;
  if (edge.type !== 'error') return { ...flow, edges: [...flow.edges, edge] };
  const others = flow.edges.filter((other) => !(other.type === 'error' && other.from === edge.from));
  const told = changed(flow, edge.from, (node) => ({
    ...node,
    rest: { ...node.rest, onError: { goto: edge.to } },
  }));
  return { ...told, edges: [...others, edge] };
}

/** Everything that leads away from a node, anew; where its error goes is said by the node as well. */
function rerouted(flow: Flow, id: string, edges: readonly FlowEdge[]): Flow {
  const at = flow.edges.findIndex((edge) => edge.from === id);
  const others = flow.edges.filter((edge) => edge.from !== id);
  const before = at < 0 ? others.length : at;
  const error = edges.find((edge) => edge.type === 'error');
  const told = changed(flow, id, (node) =>
    error ? { ...node, rest: { ...node.rest, onError: { goto: error.to } } } : withoutLostError(node, edges),
  );
  return { ...told, edges: [...others.slice(0, before), ...edges, ...others.slice(before)] };
}

/** A config that could not be read gives way to one that can. */
function configured(node: FlowNode, config: JsonObject): FlowNode {
  const isUnread = (name: string) => CONFIGS.some((each) => each === name) && !isObject(node.rest[name]);
  const rest = Object.entries(node.rest).filter(([name]) => !isUnread(name));
  return {
    ...node,
    config,
    rest: rest.length === Object.keys(node.rest).length ? node.rest : Object.fromEntries(rest),
  };
}

function settled(flow: Flow, id: string, rest: JsonObject): Flow {
  const onlyStart = rest.isStartNode === true;
  return {
    ...flow,
    nodes: flow.nodes.map((node) => {
      if (node.id === id) return { ...node, rest };
      if (!onlyStart || node.rest.isStartNode !== true) return node;
      const { isStartNode: _, ...others } = node.rest;
      return { ...node, rest: others };
    }),
  };
}

function renamed(flow: Flow, id: string, to: string): Flow {
  if (!to || flow.nodes.some((node) => node.id === to)) return flow;
  const moved = (name: string) => (name === id ? to : name);
  return {
    ...flow,
    nodes: flow.nodes.map((node) => {
      const { onError } = node.rest;
      const target =
        typeof onError === 'object' && onError !== null ? (onError as JsonObject).goto : undefined;
      const rest = target === id ? { ...node.rest, onError: { goto: to } } : node.rest;
      return { ...node, id: moved(node.id), rest };
    }),
    edges: flow.edges.map((edge) => ({ ...edge, from: moved(edge.from), to: moved(edge.to) })),
  };
}

function changed(flow: Flow, id: string, change: (node: FlowNode) => FlowNode): Flow {
  return { ...flow, nodes: flow.nodes.map((node) => (node.id === id ? change(node) : node)) };
}
