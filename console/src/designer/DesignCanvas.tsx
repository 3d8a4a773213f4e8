import {
  applyNodeChanges,
  Background,
  type Connection,
  Controls,
  type Edge,
  MiniMap,
  type NodeChange,
  ReactFlow,
  useReactFlow,
} from '@xyflow/react';
import '@xyflow/react/dist/style.css';
import { useEffect, useMemo, useRef, useState } from 'react';
import { ALL_DRAWN, drawnEdges, drawnNodes, type WayEdge } from '../canvas/drawn';
import '../canvas/canvas.css';
import { firstLook } from '../canvas/first-look';
import { type CardNode, NodeCard } from '../canvas/NodeCard';
import { useNodeTypes } from '../canvas/useNodeTypes';
import { Way } from '../canvas/Way';
import type { Edit } from '../graph/edit';
import { edgeId, type Flow, type FlowEdge, startOf } from '../graph/flow';
import { layOut, type Place } from '../graph/layout';

const NODE_TYPES = { card: NodeCard };
const EDGE_TYPES = { way: Way };
export const DRAGGED = 'application/x-muster-node';

export type Selection =
  | { readonly kind: 'none' }
  | { readonly kind: 'flow' }
  | { readonly kind: 'node'; readonly id: string }
  | { readonly kind: 'edge'; readonly index: number };

interface Props {
  readonly flow: Flow;
  readonly edit: (edit: Edit) => void;
  readonly problems: ReadonlyMap<string, { readonly errors: number; readonly warnings: number }>;
  readonly sentences: ReadonlyMap<string, string>;
  readonly moved: ReadonlyMap<string, Place>;
  readonly move: (places: ReadonlyMap<string, Place>) => void;
  readonly selection: Selection;
  readonly select: (selection: Selection) => void;
  readonly drop: (type: string, at: Place) => void;
  readonly editable: boolean;
}

/** The canvas: React Flow holds what is dragged at this moment, the flow holds the rest. */
export function DesignCanvas(props: Props) {
  const { flow, edit, problems, sentences, moved, selection, select, editable } = props;
  const types = useNodeTypes();
  const instance = useReactFlow<CardNode, WayEdge>();
  const { screenToFlowPosition, getViewport, setViewport } = instance;
  const arranged = useMemo(() => layOut(flow), [flow]);
  const places = useMemo(() => new Map([...arranged.places, ...moved]), [arranged, moved]);
  const drawing = useMemo(
    () => ({ flow, places, types: types.byName, problems, sentences, editable }),
    [flow, places, types.byName, problems, sentences, editable],
  );
  const [nodes, setNodes] = useState<CardNode[]>([]);
  // An empty canvas stays where it is: what is dropped on it must not jump away.
  const [begunWithNodes] = useState(flow.nodes.length > 0);
  const chosen = selection.kind === 'node' ? selection.id : null;
  useEffect(() => {
    setNodes((before) => {
      const marked = new Set(before.filter((node) => node.selected).map((node) => node.id));
      const there = new Map(before.map((node) => [node.id, node]));
      return drawnNodes(drawing).map((node) => {
        const selected = node.id === chosen || (marked.size > 1 && marked.has(node.id));
        return keptWhereSame(there.get(node.id), { ...node, selected });
      });
    });
  }, [drawing, chosen]);
  // Its panel takes room from the canvas: what it is about must not lie under it.
  useEffect(() => {
    if (chosen === null) return undefined;
    const soon = requestAnimationFrame(() => {
      const card = document.querySelector(`.react-flow__node[data-id="${CSS.escape(chosen)}"]`);
      const pane = document.querySelector('.react-flow__pane');
      if (!card || !pane) return;
      const hidden = card.getBoundingClientRect().right - pane.getBoundingClientRect().right + 24;
      if (hidden <= 0) return;
      const { x, y, zoom } = getViewport();
      void setViewport({ x: x - hidden, y, zoom });
    });
    return () => cancelAnimationFrame(soon);
  }, [chosen, getViewport, setViewport]);
  // What came all at once, as text or from a file, is looked at as a whole; what was dropped stays in its place.
  const count = useRef(flow.nodes.length);
  useEffect(() => {
    const came = count.current === 0 && flow.nodes.some(({ id }) => !moved.has(id));
    count.current = flow.nodes.length;
    if (came) requestAnimationFrame(() => void firstLook(instance, startOf(flow)));
  }, [flow, moved, instance]);
  const drawn = useMemo(() => drawnEdges({ flow, lanes: arranged.lanes, moved }), [flow, arranged, moved]);
  const chosenEdge = selection.kind === 'edge' ? selection.index : null;
  const edges = useMemo(
    () => drawn.map((edge, index) => (index === chosenEdge ? { ...edge, selected: true } : edge)),
    [drawn, chosenEdge],
  );
  const change = (changes: NodeChange<CardNode>[]) => {
    const removed = changes.filter((each) => each.type === 'remove').map((each) => each.id);
    if (removed.length) edit({ kind: 'remove', nodes: new Set(removed), edges: new Set() });
    setNodes((before) =>
      applyNodeChanges(
        changes.filter((each) => each.type !== 'remove'),
        before,
      ),
    );
    const picked = changes.filter((each) => each.type === 'select' && each.selected);
    if (picked.length === 1 && picked[0] && 'id' in picked[0]) select({ kind: 'node', id: picked[0].id });
    const placed = changes.flatMap((each) =>
      each.type === 'position' && each.dragging === false && each.position
        ? [[each.id, each.position] as const]
        : [],
    );
    if (placed.length) props.move(new Map([...moved, ...placed]));
  };
  const chooseEdge = (id: string) => {
    const index = flow.edges.findIndex((edge, at) => edgeId(edge, at) === id);
    if (index >= 0) select({ kind: 'edge', index });
  };
  return (
    <ReactFlow
      nodes={nodes}
      edges={edges}
      nodeTypes={NODE_TYPES}
      edgeTypes={EDGE_TYPES}
      onNodesChange={change}
      onEdgesDelete={(gone) => edit({ kind: 'remove', nodes: new Set(), edges: indexes(flow, gone) })}
      onConnect={(connection) => edit({ kind: 'connect', edge: edgeOf(flow, connection) })}
      onEdgesChange={(changes) => {
        const picked = changes.find((each) => each.type === 'select' && each.selected);
        if (picked?.type === 'select') chooseEdge(picked.id);
      }}
      onEdgeClick={(_, edge) => chooseEdge(edge.id)}
      onPaneClick={() => select({ kind: 'none' })}
      onDragOver={(event) => {
        event.preventDefault();
        event.dataTransfer.dropEffect = 'copy';
      }}
      onDrop={(event) => {
        const type = event.dataTransfer.getData(DRAGGED);
        if (!type) return;
        event.preventDefault();
        props.drop(type, screenToFlowPosition({ x: event.clientX - 40, y: event.clientY - 30 }));
      }}
      nodesDraggable={editable}
      nodesConnectable={editable}
      deleteKeyCode={editable ? ['Delete', 'Backspace'] : null}
      fitView={begunWithNodes}
      onInit={(instance) => void (begunWithNodes && firstLook(instance, startOf(flow)))}
      fitViewOptions={{ maxZoom: 1, padding: 0.08 }}
      minZoom={0.1}
      connectionRadius={36}
      onlyRenderVisibleElements={flow.nodes.length > ALL_DRAWN}
    >
      <Background gap={20} />
      <Controls showInteractive={false} />
      {flow.nodes.length > 12 && <MiniMap pannable zoomable ariaLabel="Overview" />}
    </ReactFlow>
  );
}

/** The node as it was, where nothing about it is new: of many, only what changed is drawn again. */
function keptWhereSame(before: CardNode | undefined, now: CardNode): CardNode {
  if (!before) return now;
  const data = isAlike(before.data, now.data) ? before.data : now.data;
  const same =
    data === before.data &&
    isAlike(before.position, now.position) &&
    before.selected === now.selected &&
    before.ariaLabel === now.ariaLabel;
  return same ? before : { ...before, ...now, data };
}

function isAlike(one: object, other: object): boolean {
  const [mine, theirs] = [Object.entries(one), Object.entries(other)];
  return (
    mine.length === theirs.length && mine.every(([name, value]) => Object.is(value, Reflect.get(other, name)))
  );
}

function indexes(flow: Flow, edges: readonly Edge[]): ReadonlySet<number> {
  const ids = new Set(edges.map((edge) => edge.id));
  return new Set(flow.edges.flatMap((edge, index) => (ids.has(edgeId(edge, index)) ? [index] : [])));
}

function edgeOf(flow: Flow, { source, target, sourceHandle }: Connection): FlowEdge {
  if (sourceHandle === 'error') return { from: source, to: target, type: 'error' };
  if (sourceHandle === 'true' || sourceHandle === 'false') {
    const beside = flow.edges.find((edge) => edge.from === source && edge.type === 'conditional');
    return {
      from: source,
      to: target,
      type: 'conditional',
      condition: beside?.condition ?? '#{true}',
      value: sourceHandle === 'true',
    };
  }
  return { from: source, to: target, type: 'goto' };
}
