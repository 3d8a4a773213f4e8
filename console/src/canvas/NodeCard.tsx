import { Handle, type Node, type NodeProps, Position } from '@xyflow/react';
import { memo } from 'react';
import { Icon, type IconName } from '../ui/Icon';
import { kindOf, wordOf } from '../ui/Status';
import { Countdown } from '../ui/Time';
import { lengthOf } from '../ui/time';

/** How a node fares in an execution. */
export interface Fate {
  readonly status: string;
  readonly visits: number;
  readonly attempt: number;
  readonly took: number | null;
  readonly received?: string;
  /** How many events came close and were turned away. */
  readonly misses?: number;
  readonly from?: string;
  readonly deadline?: string | null;
  /** Why it failed. */
  readonly error?: string;
}

export interface CardData extends Record<string, unknown> {
  readonly name: string;
  readonly type: string;
  readonly title: string;
  readonly category: string;
  readonly says: string;
  readonly isStart: boolean;
  readonly notes: string;
  readonly errors: number;
  readonly warnings: number;
  readonly fate?: Fate | undefined;
  readonly editable: boolean;
}

export type CardNode = Node<CardData, 'card'>;

const ICONS: Record<string, IconName> = {
  TRIGGER: 'bolt',
  SEND_EMAIL: 'mail',
  SEND_WHATSAPP: 'mail',
  REST_SYNC: 'globe',
  QUERY: 'data',
  ACTION: 'data',
  TRANSFORM: 'cog',
  DATA_PROCESSOR: 'cog',
  DELAY: 'clock',
  WAIT_EVENTS: 'hourglass',
  APPROVAL: 'person',
  SUB_WORKFLOW: 'workflow',
  FAIL: 'cross',
  LOG: 'lines',
  NOOP: 'dot',
  KAFKA_PUBLISH: 'send',
  KAFKA_COMMAND: 'exchange',
  EXTERNAL_TASK: 'server',
};

export function iconOf(type: string): IconName {
  return ICONS[type.toUpperCase()] ?? 'branch';
}

export const NodeCard = memo(function NodeCard({ data, selected }: NodeProps<CardNode>) {
  const { fate } = data;
  const tone = fate ? kindOf(fate.status)[0] : '';
  const turning = fate && /^(waiting|running|retrying)/.test(fate.status);
  return (
    <div
      className={['node', tone && `is-${tone}`, selected && 'selected', data.errors > 0 && 'wrong']
        .filter(Boolean)
        .join(' ')}
      data-category={data.category}
    >
      <Handle type="target" position={Position.Left} isConnectable={data.editable} />
      {turning && <span className={`ring ${tone}`} aria-hidden="true" />}
      <span className="node-icon">
        <Icon name={iconOf(data.type)} />
      </span>
      <span className="node-words">
        <strong className="cut">{data.name}</strong>
        {fate?.error ? (
          <span className="cut error-words" title={fate.error}>
            {fate.error}
          </span>
        ) : (
          <span className="cut quiet" title={data.says}>
            {data.says || data.title}
          </span>
        )}
        {fate && <FateLine fate={fate} />}
      </span>
      {data.isStart && <span className="node-start">start</span>}
      {fate?.misses ? (
        <span className="node-problems warn" title="Came close, and was turned away: see why it is waiting">
          ▲ {fate.misses} near {fate.misses === 1 ? 'miss' : 'misses'}
        </span>
      ) : null}
      {data.notes && (
        <span className="node-notes" title={data.notes} role="img" aria-label={`Notes: ${data.notes}`}>
          ✎
        </span>
      )}
      {data.errors + data.warnings > 0 && (
        <span className={data.errors ? 'node-problems bad' : 'node-problems warn'}>
          {data.errors ? `✕ ${data.errors}` : `▲ ${data.warnings}`}
        </span>
      )}
      <Ports connectable={data.editable} />
    </div>
  );
});

/** What follows is dragged from one of these: go on, if, if not, on error. */
function Ports({ connectable }: { connectable: boolean }) {
  return PORTS.map(([id, position, title]) => (
    <Handle
      key={id}
      type="source"
      id={id}
      position={position}
      isConnectable={connectable}
      className={connectable ? `port ${id}` : `port shown ${id}`}
      {...(connectable ? { title } : {})}
    />
  ));
}

const PORTS = [
  ['next', Position.Right, 'Goes on'],
  ['true', Position.Right, 'If (a condition)'],
  ['false', Position.Right, 'If not'],
  ['error', Position.Bottom, 'On error'],
] as const;

function FateLine({ fate }: { fate: Fate }) {
  const [tone, shape] = kindOf(fate.status);
  return (
    <span className={`fate status bare ${tone}`}>
      <span aria-hidden="true">{shape}</span>
      {fate.received ?? wordOf(fate.status)}
      {fate.attempt > 1 && <span>· attempt {fate.attempt}</span>}
      {fate.visits > 1 && <span>· {fate.visits}×</span>}
      {fate.took !== null && <span className="quiet">· {lengthOf(fate.took)}</span>}
      {fate.deadline && (
        <span>
          · <Countdown to={fate.deadline} from={fate.from} short />
        </span>
      )}
    </span>
  );
}
