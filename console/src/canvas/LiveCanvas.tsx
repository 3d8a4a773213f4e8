import { Background, Controls, ReactFlow, ReactFlowProvider } from '@xyflow/react';
import '@xyflow/react/dist/style.css';
import { useMemo } from 'react';
import type { Flow } from '../graph/flow';
import { layOut } from '../graph/layout';
import './canvas.css';
import { drawnEdges, drawnNodes } from './drawn';
import { type Fate, NodeCard } from './NodeCard';
import { useNodeTypes } from './useNodeTypes';

const NODE_TYPES = { card: NodeCard };

interface Props {
  readonly flow: Flow;
  readonly fates: ReadonlyMap<string, Fate>;
  readonly chosen: string | null;
  readonly choose: (id: string | null) => void;
}

/** A workflow with how each of its nodes fares; looked at, not changed. */
export function LiveCanvas({ flow, fates, chosen, choose }: Props) {
  const types = useNodeTypes();
  const places = useMemo(() => layOut(flow), [flow]);
  const drawing = { flow, places, types: types.byName, fates, editable: false };
  const nodes = drawnNodes(drawing).map((node) => ({ ...node, selected: node.id === chosen }));
  return (
    <ReactFlowProvider>
      <ReactFlow
        nodes={nodes}
        edges={drawnEdges(drawing)}
        nodeTypes={NODE_TYPES}
        onNodeClick={(_, node) => choose(node.id)}
        onPaneClick={() => choose(null)}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        fitView
        fitViewOptions={{ maxZoom: 1.1, padding: 0.15 }}
        minZoom={0.1}
        onlyRenderVisibleElements={flow.nodes.length > 150}
      >
        <Background gap={20} />
        <Controls showInteractive={false} />
      </ReactFlow>
    </ReactFlowProvider>
  );
}
