/** Any of the shapes that a definition may be written in, into a flow. What is wrong in it is left as it is:
 * the server says what, and where. */
import type { EdgeType, Flow, FlowEdge, FlowNode, Json, JsonObject } from './flow';
import { isObject } from './flow';

const CONFIGS = ['config', 'configJson', 'data', 'overrideConfig'] as const;
const LISTS = ['nodes', 'steps', 'routing', 'edges'] as const;

export interface Read {
  readonly flow: Flow;
  /** Where each node was written: its pointer, without what is inside it. */
  readonly places: ReadonlyMap<string, string>;
}

/** None: it is no workflow at all. */
export function readFlow(document: Json): Read | null {
  if (!isObject(document)) return null;
  const inner = isObject(document.workflow) ? document.workflow : null;
  const [nodes, at] = listOf(document, inner, 'nodes') ?? listOf(document, inner, 'steps') ?? [[], '/nodes'];
  const written = nodes.map((entry, index) => [isObject(entry) ? entry : {}, `${at}/${index}`] as const);
  const ids = idsOf(written.map(([entry]) => entry));
  const read = written.map(([entry], index) => nodeOf(entry, ids[index] ?? ''));
  const routes = [
    ...(listOf(document, inner, 'routing') ?? listOf(document, inner, 'edges') ?? [[]])[0].flatMap((entry) =>
      edgesOf(entry, null),
    ),
    ...written.flatMap(([entry], index) =>
      (arrayOf(entry.routing) ?? []).flatMap((each) => edgesOf(each, ids[index] ?? '')),
    ),
  ];
  const ordered = inOrder(
    read,
    written.map(([entry]) => entry),
  );
  const errors = read.flatMap((node) => errorEdge(node));
  const edges = routes.length ? routes : chain(ordered);
  const head = inner ?? document;
  return {
    flow: {
      head: without(head, ['workflow', 'schedule', ...LISTS]),
      rest: inner
        ? without({ ...picked(inner, ['schedule']), ...document }, ['workflow', ...LISTS])
        : picked(document, ['schedule']),
      nodes: ordered,
      edges: [...edges, ...errors],
    },
    places: new Map(written.map(([, place], index) => [ids[index] ?? '', place])),
  };
}

function listOf(
  document: JsonObject,
  inner: JsonObject | null,
  name: string,
): [readonly Json[], string] | null {
  const beside = arrayOf(document[name]);
  if (beside?.length) return [beside, `/${name}`];
  const within = inner && arrayOf(inner[name]);
  if (within?.length) return [within, `/workflow/${name}`];
  return null;
}

function arrayOf(value: Json): readonly Json[] | null {
  return Array.isArray(value) ? value : null;
}

function idsOf(entries: readonly JsonObject[]): string[] {
  return entries.map((entry, index) => (entry.id === undefined ? `node_${index + 1}` : String(entry.id)));
}

function nodeOf(entry: JsonObject, id: string): FlowNode {
  const frozen =
    isObject(entry.config) && isObject(entry.overrideConfig) && entry.nodeTemplateId !== undefined;
  const name = frozen ? 'config' : CONFIGS.find((each) => entry[each] !== undefined);
  return {
    id,
    type: String(entry.type ?? entry.nodeType ?? ''),
    config: name ? configOf(entry[name]) : {},
    rest: without(entry, [
      'id',
      'type',
      'nodeType',
      'routing',
      'nodeOrder',
      ...(frozen ? ['config'] : CONFIGS),
    ]),
  };
}

function configOf(value: Json): JsonObject {
  if (isObject(value)) return value;
  if (typeof value !== 'string') return {};
  try {
    const parsed: Json = JSON.parse(value);
    return isObject(parsed) ? parsed : {};
  } catch {
    return {};
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

function chain(nodes: readonly FlowNode[]): FlowEdge[] {
  return nodes
    .slice(1)
    .map((node, index) => ({ from: nodes[index]?.id ?? '', to: node.id, type: 'goto' as const }));
}

function errorEdge(node: FlowNode): FlowEdge[] {
  const { onError } = node.rest;
  return isObject(onError) && onError.goto !== undefined
    ? [{ from: node.id, to: String(onError.goto), type: 'error' }]
    : [];
}

const ROUTE = [
  ...[
    'type',
    'fromNodeId',
    'from',
    'targetNodeId',
    'toNodeId',
    'to',
    'condition',
    'trueNodeId',
    'falseNodeId',
  ],
  ...['value', 'expression', 'cases', 'defaultNodeId', 'default'],
];

function edgesOf(entry: Json, owner: string | null): FlowEdge[] {
  if (!isObject(entry)) return [];
  const from = owner ?? String(entry.fromNodeId ?? entry.from ?? '');
  const type = typeOf(entry);
  const rest = without(entry, ROUTE);
  const base = { from, type, ...(Object.keys(rest).length ? { rest } : {}) };
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
    ...(arrayOf(entry.cases) ?? []).filter(isObject).map((each) => ({
      ...base,
      expression,
      to: String(each.targetNodeId ?? ''),
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

function typeOf(entry: JsonObject): EdgeType {
  const said = String(entry.type ?? '').toLowerCase();
  if (said === 'conditional' || said === 'switch' || said === 'goto') return said;
  if (entry.condition !== undefined || entry.trueNodeId !== undefined) return 'conditional';
  return entry.expression !== undefined || entry.cases !== undefined ? 'switch' : 'goto';
}

function without(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

function picked(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.filter((name) => object[name] !== undefined).map((name) => [name, object[name]]),
  );
}
