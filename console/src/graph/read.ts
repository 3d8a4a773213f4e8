/** Any of the shapes that a definition may be written in, into a flow. What is wrong in it is left as it is:
 * the server says what, and where. */
import {
  CONFIGS,
  chain,
  type Flow,
  type FlowEdge,
  type FlowNode,
  isObject,
  type Json,
  type JsonObject,
} from './flow';

const LISTS = ['nodes', 'steps', 'routing', 'edges'] as const;

export interface Read {
  readonly flow: Flow;
}

/** None: it is no workflow at all. */
export function readFlow(document: Json): Read | null {
  if (!isObject(document)) return null;
  const inner = isObject(document.workflow) ? document.workflow : null;
  const nodes = listOf(document, inner, 'nodes') ?? listOf(document, inner, 'steps') ?? [];
  const written = nodes.map((entry) => (isObject(entry) ? entry : {}));
  const ids = idsOf(written);
  const read = written.map((entry, index) => nodeOf(entry, ids[index] ?? ''));
  const beside = listOf(document, inner, 'routing') ?? listOf(document, inner, 'edges') ?? [];
  const routes = [
    ...beside.map((entry) => routeOf(entry, null)),
    ...written.flatMap((entry, index) =>
      (arrayOf(entry.routing) ?? []).map((each) => routeOf(each, ids[index] ?? '')),
    ),
  ];
  const ordered = inOrder(read, written);
  const edges = routes.length ? routes.flatMap((route) => route.edges) : chain(ordered);
  const unread = routes.flatMap((route) => route.unread);
  const head = inner ?? document;
  return {
    flow: {
      head: without(head, ['workflow', 'schedule', ...LISTS]),
      rest: inner
        ? without({ ...picked(inner, ['schedule']), ...document }, ['workflow', ...LISTS])
        : picked(document, ['schedule']),
      nodes: ordered,
      edges: [...edges, ...read.flatMap((node) => errorEdge(node))],
      ...(unread.length ? { unread } : {}),
    },
  };
}

/** A list that stands beside `workflow`, or in it. */
function listOf(document: JsonObject, inner: JsonObject | null, name: string): readonly Json[] | null {
  const [beside, within] = [arrayOf(document[name]), arrayOf(inner?.[name])];
  if (beside?.length) return beside;
  return within?.length ? within : null;
}

function arrayOf(value: Json): readonly Json[] | null {
  return Array.isArray(value) ? value : null;
}

function idsOf(entries: readonly JsonObject[]): string[] {
  return entries.map((entry, index) => (entry.id === undefined ? `node_${index + 1}` : String(entry.id)));
}

/** A config that cannot be shown stays where it was written; so does a second one. */
function nodeOf(entry: JsonObject, id: string): FlowNode {
  const frozen =
    isObject(entry.config) && isObject(entry.overrideConfig) && entry.nodeTemplateId !== undefined;
  const name = frozen ? 'config' : CONFIGS.find((each) => entry[each] !== undefined && entry[each] !== null);
  const config = name ? configOf(entry[name]) : {};
  const named = typeof entry.type === 'string' ? 'type' : 'nodeType';
  return {
    id,
    type: String(entry[named] ?? ''),
    config: config ?? {},
    rest: without(entry, [
      ...['id', 'routing', 'nodeOrder', named],
      ...(name && config ? [name] : []),
      ...CONFIGS.filter((each) => entry[each] === null),
    ]),
  };
}

function configOf(value: Json): JsonObject | null {
  if (isObject(value)) return value;
  if (typeof value !== 'string') return null;
  try {
    const parsed: Json = JSON.parse(value);
    return isObject(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

function inOrder(nodes: readonly FlowNode[], entries: readonly JsonObject[]): FlowNode[] {
  const order = new Map<string, number>();
  let last = 0;
  entries.forEach((entry, index) => {
    last = typeof entry.nodeOrder === 'number' ? entry.nodeOrder : last;
    order.set(nodes[index]?.id ?? '', last);
  });
  return [...nodes].sort((one, other) => (order.get(one.id) ?? 0) - (order.get(other.id) ?? 0));
}

function errorEdge(node: FlowNode): FlowEdge[] {
  const { onError } = node.rest;
  return isObject(onError) && onError.goto !== undefined
    ? [{ from: node.id, to: String(onError.goto), type: 'error' }]
    : [];
}

const FROM = ['fromNodeId', 'from'];
const TO = ['targetNodeId', 'toNodeId', 'to'];
const OWN: Record<'goto' | 'conditional' | 'switch', readonly string[]> = {
  goto: [],
  conditional: ['condition', 'trueNodeId', 'falseNodeId', 'value'],
  switch: ['expression', 'cases', 'defaultNodeId', 'value', 'default'],
};

interface Route {
  readonly edges: readonly FlowEdge[];
  readonly unread: readonly Json[];
}

/** The ways that an entry draws; one that draws none, or would be drawn as something else, is kept as it is. */
function routeOf(entry: Json, owner: string | null): Route {
  const edges = isObject(entry) && isSound(entry) ? edgesOf(entry, owner) : [];
  if (edges.length) return { edges, unread: [] };
  const named = isObject(entry) && owner !== null && !FROM.some((name) => name in entry);
  return { edges, unread: [named ? { fromNodeId: owner, ...entry } : entry] };
}

/** Whether everything in it is of a kind that can be drawn. */
function isSound(entry: JsonObject): boolean {
  const { type, condition, expression, cases, value } = entry;
  const isText = (each: Json) => each === undefined || typeof each === 'string';
  if (type !== undefined && type !== 'goto' && type !== 'conditional' && type !== 'switch') return false;
  if (!isText(condition) || !isText(expression)) return false;
  if (TO.filter((name) => entry[name] !== undefined).length > 1) return false;
  if (FROM.filter((name) => entry[name] !== undefined).length > 1) return false;
  if (typeOf(entry) === 'conditional') return value === undefined || typeof value === 'boolean';
  return cases === undefined || (Array.isArray(cases) && cases.every(isCase));
}

function isCase(entry: Json): entry is JsonObject {
  return isObject(entry) && 'value' in entry && entry.targetNodeId !== undefined;
}

function edgesOf(entry: JsonObject, owner: string | null): FlowEdge[] {
  const from = owner ?? String(entry.fromNodeId ?? entry.from ?? '');
  const type = typeOf(entry);
  const base = { from, type, ...restOf(without(entry, ['type', ...FROM, ...TO, ...OWN[type]])) };
  const to = entry.targetNodeId ?? entry.toNodeId ?? entry.to;
  const direct = to === undefined ? [] : [String(to)];
  if (type === 'goto') return direct.map((each) => ({ ...base, to: each }));
  if (type === 'conditional') {
    const condition = String(entry.condition ?? '');
    return [
      ...(entry.trueNodeId === undefined
        ? []
        : [{ ...base, condition, to: String(entry.trueNodeId), value: true }]),
      ...(entry.falseNodeId === undefined
        ? []
        : [{ ...base, condition, to: String(entry.falseNodeId), value: false }]),
      ...direct.map((each) => ({ ...base, condition, to: each, value: entry.value !== false })),
    ];
  }
  const expression = String(entry.expression ?? '');
  return [
    ...(arrayOf(entry.cases) ?? []).filter(isCase).map((each) => ({
      ...base,
      ...restOf({ ...base.rest, ...without(each, ['value', 'targetNodeId']) }),
      expression,
      to: String(each.targetNodeId),
      value: each.value,
    })),
    ...(entry.defaultNodeId === undefined
      ? []
      : [{ ...base, expression, to: String(entry.defaultNodeId), isDefault: true }]),
    ...direct.map((each) =>
      entry.default === true
        ? { ...base, expression, to: each, isDefault: true }
        : { ...base, expression, to: each, value: entry.value },
    ),
  ];
}

function restOf(rest: JsonObject): { rest?: JsonObject } {
  return Object.keys(rest).length ? { rest } : {};
}

/** The type that is written, else the one that the fields imply. */
function typeOf({ type, ...entry }: JsonObject): 'goto' | 'conditional' | 'switch' {
  if (type === 'conditional' || type === 'switch' || type === 'goto') return type;
  const says = (...names: string[]) => names.some((name) => entry[name] !== undefined);
  if (says('condition', 'trueNodeId', 'falseNodeId')) return 'conditional';
  return says('expression', 'cases') ? 'switch' : 'goto';
}

function without(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

function picked(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.filter((name) => object[name] !== undefined).map((name) => [name, object[name]]),
  );
}
