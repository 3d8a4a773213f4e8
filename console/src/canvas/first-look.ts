import type { ReactFlowInstance } from '@xyflow/react';
import { HEIGHT, WIDTH } from '../graph/layout';
import type { WayEdge } from './drawn';
import type { CardNode } from './NodeCard';

const READABLE = 0.75;
const BESIDE = 32;

/** All of it; or, where that could not be read, the node that matters, as large as life. */
export async function firstLook(
  flow: ReactFlowInstance<CardNode, WayEdge>,
  matters: string | undefined,
): Promise<void> {
  await flow.fitView({ maxZoom: 1.1, padding: 0.08 });
  const node = matters === undefined ? undefined : flow.getNode(matters);
  if (!node || flow.getZoom() >= READABLE) return;
  const { x, y } = node.position;
  await flow.setCenter(x + WIDTH / 2, y + HEIGHT / 2, { zoom: 0.9 });
  // Nothing stands left of the first column: what is right of it is worth more than that.
  const view = flow.getViewport();
  const left = flow.getNodesBounds(flow.getNodes()).x * view.zoom + view.x;
  if (left > BESIDE) await flow.setViewport({ ...view, x: view.x - left + BESIDE });
}
