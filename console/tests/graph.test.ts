import { expect, test } from 'vitest';
import { comparable } from '../src/designer/comparable';
import { diffLines } from '../src/designer/diff';
import { type History, type Step, stepped } from '../src/designer/history';
import { apply, freshId } from '../src/graph/edit';
import { EMPTY, type Flow, labelOf, startOf, waysOf } from '../src/graph/flow';
import { HEIGHT, layOut } from '../src/graph/layout';
import { readFlow } from '../src/graph/read';
import { spotAt, writeFlow } from '../src/graph/write';

const read = (document: unknown): Flow => readFlow(document)?.flow ?? EMPTY;
const ways = (flow: Flow) => flow.edges.map((edge) => `${edge.from}-${edge.type}-${edge.to}`);

test('every shape becomes the same flow', () => {
  const config = { message: 'x' };
  const shapes = [
    {
      workflow: { name: 'A' },
      nodes: [
        { id: 'node_1', type: 'LOG', overrideConfig: JSON.stringify(config) },
        { id: 'node_2', type: 'NOOP' },
      ],
    },
    { workflow: { name: 'A', nodes: [{ type: 'LOG', config }, { type: 'NOOP' }] } },
    { name: 'A', steps: [{ nodeType: 'LOG', data: config }, { type: 'NOOP' }] },
    {
      name: 'A',
      nodes: [
        { id: 'node_1', type: 'LOG', config, routing: [{ type: 'goto', targetNodeId: 'node_2' }] },
        { id: 'node_2', type: 'NOOP' },
      ],
    },
  ];
  for (const shape of shapes) {
    const flow = read(shape);
    expect(flow.head.name).toBe('A');
    expect(flow.nodes.map((node) => [node.id, node.type])).toEqual([
      ['node_1', 'LOG'],
      ['node_2', 'NOOP'],
    ]);
    expect(flow.nodes[0]?.config).toEqual(config);
    expect(ways(flow)).toEqual(['node_1-goto-node_2']);
  }
});

test('what is written is read again as it was', () => {
  const flow = read({
    workflow: { name: 'A', key: 'a' },
    schedule: { type: 'CRON', expression: '0 9 * * *' },
    nodes: [
      { id: 'a', type: 'NOOP', onError: { goto: 'd' } },
      { id: 'b', type: 'NOOP' },
      { id: 'c', type: 'NOOP' },
      { id: 'd', type: 'NOOP' },
    ],
    routing: [
      { fromNodeId: 'a', type: 'conditional', condition: '#{x}', trueNodeId: 'b', falseNodeId: 'c' },
      {
        fromNodeId: 'b',
        type: 'switch',
        expression: '#{y}',
        cases: [{ value: 1, targetNodeId: 'c' }],
        defaultNodeId: 'd',
        maxLatencySec: 5,
      },
    ],
  });
  expect(ways(flow)).toEqual(['a-conditional-b', 'a-conditional-c', 'b-switch-c', 'b-switch-d', 'a-error-d']);
  expect(read(writeFlow(flow))).toEqual({
    ...flow,
    nodes: [
      { ...flow.nodes[0], rest: { ...flow.nodes[0]?.rest, isStartNode: true } },
      ...flow.nodes.slice(1),
    ],
  });
});

test('a pointer leads to its node, to its way, to the workflow, or to the text where nothing is drawn', () => {
  const flow = read({
    nodes: [
      { id: 'a', type: 'NOOP', onError: { goto: 'b' } },
      { id: 'b', type: 'NOOP' },
    ],
    routing: [
      { fromNodeId: 'a', toNodeId: 'b' },
      { fromNodeId: 'a', type: 'gotoo' },
    ],
  });
  expect(spotAt(flow, '/nodes/1/config/x')).toEqual({ kind: 'node', id: 'b' });
  expect(spotAt(flow, '/routing/0/condition')).toEqual({ kind: 'edge', index: 0 });
  expect(spotAt(flow, '/routing/1/type')).toEqual({ kind: 'text' });
  expect(spotAt(flow, '/workflow/name')).toEqual({ kind: 'flow' });
});

test('where nothing says what follows, what is drawn is what is saved: each node leads to the next', () => {
  const nodes = ['b', 'a', 'c'].map((id) => ({ id, type: 'NOOP', config: {}, rest: {} }));
  const flow: Flow = { ...EMPTY, nodes };
  expect(ways({ ...flow, edges: waysOf(flow) })).toEqual(['b-goto-a', 'a-goto-c']);
  expect(ways(read(writeFlow(flow)))).toEqual(['b-goto-a', 'a-goto-c']);
  expect(spotAt(flow, '/routing/1')).toEqual({ kind: 'node', id: 'a' });
  const connected = apply(flow, { kind: 'connect', edge: { from: 'b', to: 'c', type: 'goto' } });
  expect(ways(read(writeFlow(connected)))).toEqual(['b-goto-c']);
});

test('what starts is what the server would start, also where only an error leads back', () => {
  const nodes = [
    { id: 'a', type: 'NOOP', config: {}, rest: {} },
    { id: 'b', type: 'NOOP', config: {}, rest: { onError: { goto: 'a' } } },
  ];
  expect(startOf({ ...EMPTY, nodes, edges: [{ from: 'b', to: 'a', type: 'error' }] })).toBe('a');
});

test('what cannot be read is kept as it was written, so that the server can say what is wrong', () => {
  const written = (node: object, routing: unknown[] = []) =>
    writeFlow(
      read({
        name: 'A',
        nodes: [
          { id: 'a', type: 'LOG', ...node },
          { id: 'b', type: 'NOOP' },
        ],
        routing,
      }),
    );
  const first = (node: object) => (written(node).nodes as object[])[0];
  expect(first({ overrideConfig: '{"message": ' })).toMatchObject({ overrideConfig: '{"message": ' });
  expect(first({ overrideConfig: '{"message": ' })).not.toHaveProperty('config');
  expect(first({ config: ['x'] })).toMatchObject({ config: ['x'] });
  expect(first({ config: {}, data: { message: 'y' } })).toMatchObject({ config: {}, data: { message: 'y' } });
  const odd = [
    { fromNodeId: 'a', toNodeId: 'b', type: 'gotoo' },
    { fromNodeId: 'a', type: 'conditional', condition: '#{x}' },
    { fromNodeId: 'a', toNodeId: 'b', type: 'conditional', condition: '#{x}', value: 'yes' },
    { fromNodeId: 'a', type: 'switch', expression: '#{x}', cases: [{ value: 1 }] },
    'a to b',
  ];
  expect(written({}, odd).routing).toEqual(odd);
  const foreign = { fromNodeId: 'a', toNodeId: 'b', type: 'goto', condition: '#{x}' };
  expect(written({}, [foreign]).routing).toEqual([foreign]);
  expect(written({ routing: [{ type: 'gotoo', to: 'b' }] }).routing).toEqual([
    { fromNodeId: 'a', type: 'gotoo', to: 'b' },
  ]);
});

test('a config that could not be read gives way to the first that is set', () => {
  const flow = read({ nodes: [{ id: 'a', type: 'LOG', overrideConfig: '{' }] });
  const set = apply(flow, { kind: 'configure', id: 'a', config: { message: 'x' } });
  expect((writeFlow(set).nodes as object[])[0]).toMatchObject({ config: { message: 'x' } });
  expect((writeFlow(set).nodes as object[])[0]).not.toHaveProperty('overrideConfig');
});

test('a deadline of one case is its own', () => {
  const cases = [
    { value: 1, targetNodeId: 'b', maxLatencySec: 5 },
    { value: 2, targetNodeId: 'b' },
  ];
  const flow = read({
    nodes: [
      { id: 'a', type: 'NOOP' },
      { id: 'b', type: 'NOOP' },
    ],
    routing: [{ fromNodeId: 'a', type: 'switch', expression: '#{x}', cases, severity: 'red' }],
  });
  expect(flow.edges.map((edge) => edge.rest)).toEqual([
    { severity: 'red', maxLatencySec: 5 },
    { severity: 'red' },
  ]);
});

test('typing on in a field is one step; another field, or something that goes, is another', () => {
  const nodes = [{ id: 'a', type: 'LOG', config: {}, rest: {} }];
  const type = (message: string | undefined, level = 'INFO') =>
    ({ kind: 'configure', id: 'a', config: message === undefined ? {} : { message, level } }) as const;
  const after = (...steps: Step[]) =>
    steps.reduce<History>(stepped, { past: [], present: { ...EMPTY, nodes }, future: [] });
  const settled = after(type('x'));
  expect(after(type('x'), type('h'), type('he'), type('hey')).past).toHaveLength(2);
  expect(after(type('x'), type('h'), type('he'), type('he', 'WARN')).past).toHaveLength(3);
  expect(after(type('x'), type('h'), type(undefined)).past).toHaveLength(3);
  const back = after(type('x'), type('h'), type('he'), { kind: 'undo' });
  expect(back.present).toEqual(settled.present);
  expect(stepped(back, type('ho')).past).toHaveLength(2);
});

test('a comparison hides only what the server adds by itself', () => {
  const head = (more: object) => ({ workflow: { name: 'A', ...more } });
  const saved = head({ key: 'a', status: 'ACTIVE', durability: 'journal', workflowType: 'MANUAL' });
  const differ = (after: object) => {
    const [one, other] = comparable(saved, after as Flow['head']);
    return JSON.stringify(one) !== JSON.stringify(other);
  };
  expect(differ(head({}))).toBe(false);
  expect(differ(head({ durability: 'cache' }))).toBe(true);
  expect(differ(head({ workflowType: 'SCHEDULED' }))).toBe(true);
});

test('what came is there, also if it is empty', () => {
  const nodes = [{ id: 'a', type: 'LOG', config: {}, rest: {} }];
  const before: History = { past: [], present: { ...EMPTY, nodes }, future: [] };
  const config = { forEach: { cases: { '1': {} } } };
  expect(stepped(before, { kind: 'configure', id: 'a', config }).present.nodes[0]?.config).toEqual(config);
});

test('an edit can be undone and done again', () => {
  const node = { id: freshId(EMPTY, 'SEND_EMAIL'), type: 'SEND_EMAIL', config: {}, rest: {} };
  let history = stepped({ past: [], present: EMPTY, future: [] }, { kind: 'add', nodes: [node], edges: [] });
  expect(history.present.nodes[0]?.id).toBe('send_email');
  expect(freshId(history.present, 'SEND_EMAIL')).toBe('send_email_2');
  history = stepped(history, { kind: 'undo' });
  expect(history.present.nodes).toEqual([]);
  expect(stepped(history, { kind: 'redo' }).present.nodes).toHaveLength(1);
});

test('what leads to a node goes with it, and a new name is known everywhere', () => {
  const flow = read({
    nodes: [
      { id: 'a', type: 'NOOP', onError: { goto: 'b' } },
      { id: 'b', type: 'NOOP' },
    ],
  });
  const renamed = apply(flow, { kind: 'rename', id: 'b', to: 'z' });
  expect(ways(renamed)).toEqual(['a-goto-z', 'a-error-z']);
  expect(renamed.nodes[0]?.rest.onError).toEqual({ goto: 'z' });
  const removed = apply(renamed, { kind: 'remove', nodes: new Set(['z']), edges: new Set() });
  expect(removed.edges).toEqual([]);
  expect(removed.nodes[0]?.rest.onError).toBe(undefined);
});

test('adding a node moves nothing before it, and loops end', () => {
  const before = read({
    nodes: [
      { id: 'a', type: 'NOOP' },
      { id: 'b', type: 'NOOP' },
    ],
  });
  const after = apply(before, {
    kind: 'add',
    nodes: [{ id: 'c', type: 'NOOP', config: {}, rest: {} }],
    edges: [
      { from: 'b', to: 'c', type: 'goto' },
      { from: 'c', to: 'a', type: 'goto' },
    ],
  });
  const { places } = layOut(after);
  for (const [id, place] of layOut(before).places) expect(places.get(id)).toEqual(place);
  expect(places.get('c')?.x).toBeGreaterThan(places.get('b')?.x ?? 0);
});

test('a diff says what went and came', () => {
  const signs = diffLines('a\nb\nc', 'a\nx\nc').map((line) => line.sign + line.text);
  expect(signs).toEqual([' a', '-b', '+x', ' c']);
});

test('a way over several columns has a lane that no node stands on, and leaves what follows in its row', () => {
  const { places, lanes } = layOut(
    read({
      name: 'A',
      nodes: ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id, type: 'NOOP' })),
      routing: [
        { fromNodeId: 'a', toNodeId: 'b' },
        { fromNodeId: 'b', toNodeId: 'c' },
        { fromNodeId: 'c', toNodeId: 'd' },
        { fromNodeId: 'a', toNodeId: 'd', type: 'conditional', condition: '#{short}' },
        { fromNodeId: 'a', toNodeId: 'e' },
        { fromNodeId: 'e', toNodeId: 'd' },
      ],
    }),
  );
  const row = (id: string) => places.get(id)?.y;
  expect([row('a'), row('b'), row('c'), row('d')]).toEqual([0, 0, 0, 0]);
  const lane = lanes.get('a\nd') ?? 0;
  for (const id of ['b', 'c', 'e']) {
    const top = row(id) ?? 0;
    expect(lane < top || lane > top + HEIGHT).toBe(true);
  }
});

test('between columns there is room for what is written on a way, and what only errors lead to stands below', () => {
  const drawn = (condition: string) =>
    layOut(
      read({
        name: 'A',
        nodes: [
          { id: 'a', type: 'NOOP', onError: { goto: 'sorry' } },
          { id: 'sorry', type: 'NOOP' },
          { id: 'b', type: 'NOOP' },
        ],
        routing: [{ fromNodeId: 'a', toNodeId: 'b', type: 'conditional', condition }],
      }),
    ).places;
  const [short, long] = [drawn('#{x}'), drawn('#{order.total > 100}')];
  expect(long.get('b')?.x).toBeGreaterThan(short.get('b')?.x ?? 0);
  expect([long.get('b')?.y, (long.get('sorry')?.y ?? 0) > 0]).toEqual([0, true]);
});

test('a way says when it is taken in few words', () => {
  const edge = { from: 'a', to: 'b', type: 'conditional', condition: '#{ total > 0 }' } as const;
  expect(labelOf(edge)).toBe('if total > 0');
  expect(labelOf({ ...edge, value: false })).toBe('unless total > 0');
  expect(labelOf({ ...edge, condition: '#{a} and #{b}' })).toBe('if #{a} and #{b}');
});

test('the ways of a wait say which is for when all came, and which for when its time is over', () => {
  const wait = (onTimeout?: string) => ({
    id: 'a',
    type: 'wait_events',
    config: onTimeout ? { onTimeout } : {},
    rest: {},
  });
  const [next, error] = (['goto', 'error'] as const).map((type) => ({ from: 'a', to: 'b', type }));
  expect([next, error].map((edge) => edge && labelOf(edge, wait()))).toEqual(['done', 'on timeout or error']);
  expect([next, error].map((edge) => edge && labelOf(edge, wait('continue')))).toEqual([
    'done, or time is over',
    'on error',
  ]);
});
