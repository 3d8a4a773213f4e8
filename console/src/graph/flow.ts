/** A workflow as it is drawn and edited. Knows no React, and nothing of where nodes stand. */
export type Json = unknown;
export type JsonObject = { readonly [key: string]: Json };

export interface FlowNode {
  readonly id: string;
  readonly type: string;
  /** The node's own config; of one that names a template, what it changes in it. */
  readonly config: JsonObject;
  /** Everything else that the node says: `name`, `retry`, `onError`, `nodeTemplateId` … */
  readonly rest: JsonObject;
}

/** Where a node's config may be written. */
export const CONFIGS = ['config', 'configJson', 'data', 'overrideConfig'] as const;

/** A config that is neither an object nor the text of one: it stays in `rest`, as it was written. */
export function hasUnreadConfig(rest: JsonObject): boolean {
  return CONFIGS.some((name) => rest[name] !== undefined && !isObject(rest[name]));
}

export type EdgeType = 'goto' | 'conditional' | 'switch' | 'error';

export interface FlowEdge {
  readonly from: string;
  readonly to: string;
  readonly type: EdgeType;
  readonly condition?: string;
  readonly expression?: string;
  readonly value?: Json;
  readonly isDefault?: boolean;
  /** Deadlines and the like. */
  readonly rest?: JsonObject;
}

export interface Flow {
  /** What stands in `workflow`: its name, key, description … */
  readonly head: JsonObject;
  /** What stands beside it: `schedule`, `output` … */
  readonly rest: JsonObject;
  readonly nodes: readonly FlowNode[];
  readonly edges: readonly FlowEdge[];
  /** Routes that cannot be drawn, as they were written: the server says what is wrong with them. */
  readonly unread?: readonly Json[];
}

export const EMPTY: Flow = { head: { name: 'New workflow' }, rest: {}, nodes: [], edges: [] };

/** What an edge is drawn from: the port of its node. */
export function portOf(edge: FlowEdge): string {
  switch (edge.type) {
    case 'goto':
      return 'next';
    case 'error':
      return 'error';
    case 'conditional':
      return edge.value === false ? 'false' : 'true';
    case 'switch':
      return edge.isDefault ? 'default' : `case ${String(edge.value)}`;
  }
}

const LABEL = 26;

/** What is written on a way: when it is taken. */
export function labelOf(edge: FlowEdge, from?: FlowNode): string {
  const words = wordsOf(edge, from);
  return words.length > LABEL ? `${words.slice(0, LABEL - 1)}…` : words;
}

/** `from` is the node that it leaves: of one that waits, it is said what for. */
export function wordsOf(edge: FlowEdge, from?: FlowNode): string {
  const waits = from?.type.toUpperCase() === 'WAIT_EVENTS';
  const ends = waits && (from.config.onTimeout ?? 'fail') === 'fail';
  switch (edge.type) {
    case 'goto':
      return waits ? (ends ? 'done' : 'done, or time is over') : '';
    case 'error':
      return ends ? 'on timeout or error' : 'on error';
    case 'conditional':
      return `${edge.value === false ? 'unless' : 'if'} ${bare(edge.condition)}`;
    case 'switch':
      return edge.isDefault ? 'otherwise' : `${bare(edge.expression)} = ${String(edge.value)}`;
  }
}

/** `total > 0`, and not `#{total > 0}`. */
function bare(expression = ''): string {
  return /^[#$]\{([^{}]*)\}$/.exec(expression.trim())?.[1]?.trim() ?? expression;
}

export function edgeId(edge: FlowEdge, index: number): string {
  return `${edge.from} ${portOf(edge)} ${edge.to} ${index}`;
}

export function nameOf(node: FlowNode): string {
  return typeof node.rest.name === 'string' && node.rest.name ? node.rest.name : node.id;
}

/** Ways that nobody has drawn: where no node says what follows it, each leads to the next. */
export function implied(flow: Flow): readonly FlowEdge[] {
  if (flow.unread?.length || flow.edges.some((edge) => edge.type !== 'error')) return [];
  return chain(flow.nodes);
}

/** All that is drawn: what was said, and what follows from nothing being said. */
export function waysOf(flow: Flow): readonly FlowEdge[] {
  return [...flow.edges, ...implied(flow)];
}

export function chain(nodes: readonly FlowNode[]): readonly FlowEdge[] {
  return nodes
    .slice(1)
    .map((node, index) => ({ from: nodes[index]?.id ?? '', to: node.id, type: 'goto' as const }));
}

export function startOf(flow: Flow): string | undefined {
  const marked = flow.nodes.find((node) => node.rest.isStartNode === true);
  if (marked) return marked.id;
  const reached = new Set(waysOf(flow).map((edge) => edge.to));
  return (flow.nodes.find((node) => !reached.has(node.id)) ?? flow.nodes[0])?.id;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
