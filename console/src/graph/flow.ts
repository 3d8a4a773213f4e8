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
export function labelOf(edge: FlowEdge): string {
  const words = wordsOf(edge);
  return words.length > LABEL ? `${words.slice(0, LABEL - 1)}…` : words;
}

export function wordsOf(edge: FlowEdge): string {
  switch (edge.type) {
    case 'goto':
      return '';
    case 'error':
      return 'on error';
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

export function startOf(flow: Flow): string | undefined {
  const marked = flow.nodes.find((node) => node.rest.isStartNode === true);
  if (marked) return marked.id;
  const reached = new Set(flow.edges.map((edge) => edge.to));
  return (flow.nodes.find((node) => !reached.has(node.id)) ?? flow.nodes[0])?.id;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
