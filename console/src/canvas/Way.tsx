import { BaseEdge, type EdgeProps, getBezierPath, Position } from '@xyflow/react';
import { HEIGHT } from '../graph/layout';
import type { WayEdge } from './drawn';

/** A way from node to node: a curve to a neighbour, along its lane over what lies between, or around and back. */
export function Way(props: EdgeProps<WayEdge>) {
  const { markerEnd, label, data } = props;
  const [path, labelX, labelY] = drawn(props, data?.lane);
  return (
    <BaseEdge
      path={path}
      {...(markerEnd ? { markerEnd } : {})}
      label={label}
      labelX={labelX}
      labelY={labelY}
      labelBgPadding={[4, 2]}
      labelBgBorderRadius={4}
    />
  );
}

const BEND = 56;

function drawn(props: EdgeProps<WayEdge>, lane: number | undefined): readonly [string, number, number] {
  const { sourceX, sourceY, targetX, targetY, sourcePosition } = props;
  if (targetX < sourceX) return around(props);
  if (lane === undefined || targetX - sourceX < 3 * BEND) {
    const [path, x, y] = getBezierPath(props);
    return [path, x, y];
  }
  const [begin, end] = [sourceX + BEND, targetX - BEND];
  const down =
    sourcePosition === Position.Bottom
      ? `Q${sourceX},${lane} ${begin},${lane}`
      : `C${sourceX + BEND / 2},${sourceY} ${begin - BEND / 2},${lane} ${begin},${lane}`;
  const up = `C${end + BEND / 2},${lane} ${targetX - BEND / 2},${targetY} ${targetX},${targetY}`;
  return [`M${sourceX},${sourceY}${down}L${end},${lane}${up}`, (begin + end) / 2, lane];
}

/** Under both, and back. */
function around({ sourceX, sourceY, targetX, targetY, sourcePosition }: EdgeProps<WayEdge>) {
  const below = Math.max(sourceY, targetY) + HEIGHT / 2 + 26;
  const [out, round] = [26, 12];
  const begin =
    sourcePosition === Position.Bottom
      ? `M${sourceX},${sourceY}L${sourceX},${below - round}Q${sourceX},${below} ${sourceX - round},${below}`
      : `M${sourceX},${sourceY}L${sourceX + out - round},${sourceY}Q${sourceX + out},${sourceY} ${sourceX + out},${sourceY + round}` +
        `L${sourceX + out},${below - round}Q${sourceX + out},${below} ${sourceX + out - round},${below}`;
  const end =
    `L${targetX - out + round},${below}Q${targetX - out},${below} ${targetX - out},${below - round}` +
    `L${targetX - out},${targetY + round}Q${targetX - out},${targetY} ${targetX - out + round},${targetY}L${targetX},${targetY}`;
  return [begin + end, (sourceX + targetX) / 2, below] as const;
}
