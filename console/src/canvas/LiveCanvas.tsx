import { Background, Controls, ReactFlow, ReactFlowProvider } from '@xyflow/react';
import '@xyflow/react/dist/style.css';
import { useMemo } from 'react';
import { type Flow, startOf } from '../graph/flow';
import { layOut } from '../graph/layout';
import './canvas.css';
import { ALL_DRAWN, drawnEdges, drawnNodes } from './drawn';
import { firstLook } from './first-look';
import { type CardNode, type Fate, NodeCard } from './NodeCard';
import { useNodeTypes } from './useNodeTypes';
import { Way } from './Way';

const NODE_TYPES = { card: NodeCard };
const EDGE_TYPES = { way: Way };

interface Props {
  readonly flow: Flow;
  readonly fates: ReadonlyMap<string, Fate>;
  readonly chosen: string | null;
  readonly choose: (id: string | null) => void;
}

const BUSY = /^(waiting|running|retrying|paused)/;

/** Where somebody looks first: at what failed, else at what goes on, else at the start. */
function matters(flow: Flow, fates: ReadonlyMap<string, Fate>): string | undefined {
  const states = [...fates];
  const failed = states.find(([, fate]) => fate.status === 'failed');
  const busy = states.find(([, fate]) => BUSY.test(fate.status));
  return (failed ?? busy)?.[0] ?? startOf(flow);
}

/** A workflow with how each of its nodes fares; looked at, not changed. */
export function LiveCanvas({ flow, fates, chosen, choose }: Props) {
  const types = useNodeTypes();
  const { places, lanes } = useMemo(() => layOut(flow), [flow]);
  const drawing = { flow, places, types: types.byName, fates, editable: false };
  const nodes: CardNode[] = drawnNodes(drawing).map((node) => ({ ...node, selected: node.id === chosen }));
  return (
    <ReactFlowProvider>
      <ReactFlow
        nodes={nodes}
        edges={drawnEdges({ flow, fates, lanes })}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        onNodeClick={(_, node) => choose(node.id)}
        onPaneClick={() => choose(null)}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        fitView
        onInit={(instance) => void firstLook(instance, matters(flow, fates))}
        fitViewOptions={{ maxZoom: 1.1, padding: 0.08 }}
        minZoom={0.1}
        onlyRenderVisibleElements={flow.nodes.length > ALL_DRAWN}
      >
        <Background gap={20} />
        <Controls showInteractive={false} />
      </ReactFlow>
    </ReactFlowProvider>
  );
}
