import { useId, useState } from 'react';
import type { Edit } from '../graph/edit';
import { type EdgeType, type Flow, type FlowEdge, type FlowNode, nameOf } from '../graph/flow';
import { ExpressionInput } from './ExpressionInput';

interface Props {
  readonly flow: Flow;
  readonly node: FlowNode;
  readonly edit: (edit: Edit) => void;
}

const WHEN: readonly (readonly [EdgeType, string])[] = [
  ['goto', 'always'],
  ['conditional', 'if a condition holds'],
  ['switch', 'for one value'],
  ['error', 'when it fails'],
];

/** What follows, and when: each decision as a whole, with all its ways. For the keyboard, too. */
export function RoutesPanel({ flow, node, edit }: Props) {
  const ways = flow.edges.filter((edge) => edge.from === node.id);
  const others = flow.nodes.filter((other) => other.id !== node.id);
  const tell = (edges: readonly FlowEdge[]) => edit({ kind: 'ways', id: node.id, edges });
  const given = { ways, others, tell };
  const plain = ways.filter((way) => way.type === 'goto' || way.type === 'error');
  const conditions = distinct(ways, 'conditional', (way) => way.condition ?? '');
  const expressions = distinct(ways, 'switch', (way) => way.expression ?? '');
  return (
    <div className="form">
      {ways.length === 0 && <p className="quiet">Nothing follows it: the path ends here.</p>}
      {plain.map((way) => (
        <div key={`${way.type} ${way.to}`} className="way">
          <span className="tag">{way.type === 'error' ? 'when it fails' : 'always'}</span>
          <Target {...given} way={way} label={way.type === 'error' ? 'Then' : 'Leads to'} />
        </div>
      ))}
      {/* While it is typed an expression has no name but its place. */}
      {conditions.map((condition, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: see above
        <Condition key={at} {...given} condition={condition} from={node.id} />
      ))}
      {expressions.map((expression, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: see above
        <Switch key={at} {...given} expression={expression} from={node.id} />
      ))}
      {others.length > 0 && (
        <Another others={others} add={(type, to) => tell([...ways, made(node.id, to, type, ways)])} />
      )}
    </div>
  );
}

interface Ways {
  readonly ways: readonly FlowEdge[];
  readonly others: readonly FlowNode[];
  readonly tell: (edges: readonly FlowEdge[]) => void;
}

function Condition({ ways, others, tell, condition, from }: Ways & { condition: string; from: string }) {
  const id = useId();
  const mine = (way: FlowEdge) => way.type === 'conditional' && (way.condition ?? '') === condition;
  const branch = (holds: boolean) => ways.filter((way) => mine(way) && (way.value !== false) === holds);
  return (
    <fieldset>
      <legend>
        <label htmlFor={id}>If</label>
      </legend>
      <ExpressionInput
        id={id}
        value={condition}
        placeholder="#{order.total > 100}"
        long={false}
        change={(now) => tell(ways.map((way) => (mine(way) ? { ...way, condition: now } : way)))}
      />
      {[true, false].map((holds) => {
        const there = branch(holds);
        const label = holds ? 'Then' : 'Else';
        return there.length ? (
          there.map((way) => (
            <Target
              key={`${label} ${way.to}`}
              ways={ways}
              others={others}
              tell={tell}
              way={way}
              label={label}
            />
          ))
        ) : (
          <Nowhere
            key={label}
            label={label}
            others={others}
            lead={(to) => tell([...ways, { from, to, type: 'conditional', condition, value: holds }])}
          />
        );
      })}
    </fieldset>
  );
}

function Switch({ ways, others, tell, expression, from }: Ways & { expression: string; from: string }) {
  const id = useId();
  const mine = (way: FlowEdge) => way.type === 'switch' && (way.expression ?? '') === expression;
  const cases = ways.filter((way) => mine(way) && !way.isDefault);
  const otherwise = ways.filter((way) => mine(way) && way.isDefault);
  const value = (way: FlowEdge, now: string) =>
    tell(ways.map((each) => (each === way ? { ...way, value: now } : each)));
  return (
    <fieldset>
      <legend>
        <label htmlFor={id}>By the value of</label>
      </legend>
      <ExpressionInput
        id={id}
        value={expression}
        placeholder="#{customer.kind}"
        long={false}
        change={(now) => tell(ways.map((way) => (mine(way) ? { ...way, expression: now } : way)))}
      />
      {cases.map((way, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: while it is typed a case has no name but its place
        <div key={at} className="way case-way">
          <input
            className="input mono"
            aria-label={`Value ${at + 1}`}
            placeholder="value"
            value={String(way.value ?? '')}
            onChange={(event) => value(way, event.target.value)}
          />
          <Target ways={ways} others={others} tell={tell} way={way} label={`Then ${at + 1}`} bare />
        </div>
      ))}
      <Nowhere
        label="Another value"
        others={others}
        lead={(to) => tell([...ways, { from, to, type: 'switch', expression, value: '' }])}
      />
      {otherwise.length ? (
        otherwise.map((way) => (
          <Target key={way.to} ways={ways} others={others} tell={tell} way={way} label="Otherwise" />
        ))
      ) : (
        <Nowhere
          label="Otherwise"
          others={others}
          lead={(to) => tell([...ways, { from, to, type: 'switch', expression, isDefault: true }])}
        />
      )}
    </fieldset>
  );
}

/** Where a way leads, and whether it is there at all. */
function Target({
  ways,
  others,
  tell,
  way,
  label,
  bare,
}: Ways & { way: FlowEdge; label: string; bare?: boolean }) {
  return (
    <div className="target">
      {!bare && <span aria-hidden="true">{label}</span>}
      <select
        className="input"
        aria-label={label}
        value={way.to}
        onChange={(event) =>
          tell(ways.map((each) => (each === way ? { ...way, to: event.target.value } : each)))
        }
      >
        <Options others={others} />
        {!others.some(({ id }) => id === way.to) && <option value={way.to}>{way.to}</option>}
      </select>
      <button
        type="button"
        className="icon-button"
        aria-label={`Remove the way to ${way.to}`}
        onClick={() => tell(ways.filter((each) => each !== way))}
      >
        <span aria-hidden="true">✕</span>
      </button>
    </div>
  );
}

function Nowhere({
  label,
  others,
  lead,
}: { label: string; lead: (to: string) => void } & Pick<Ways, 'others'>) {
  return (
    <div className="target">
      <span aria-hidden="true">{label}</span>
      <select
        className="input"
        aria-label={label}
        value=""
        onChange={(event) => event.target.value && lead(event.target.value)}
      >
        <option value="">leads nowhere</option>
        <Options others={others} />
      </select>
    </div>
  );
}

function Options({ others }: Pick<Ways, 'others'>) {
  return others.map((other) => (
    <option key={other.id} value={other.id}>
      {nameOf(other)}
    </option>
  ));
}

function Another({ others, add }: { add: (type: EdgeType, to: string) => void } & Pick<Ways, 'others'>) {
  const [type, setType] = useState<EdgeType>('goto');
  const [to, setTo] = useState('');
  return (
    <div className="another">
      <select
        className="input"
        aria-label="When"
        value={type}
        onChange={(event) => setType(event.target.value as EdgeType)}
      >
        {WHEN.map(([each, words]) => (
          <option key={each} value={each}>
            {words}
          </option>
        ))}
      </select>
      <select
        className="input"
        aria-label="Lead to"
        value={to}
        onChange={(event) => setTo(event.target.value)}
      >
        <option value="">Lead to…</option>
        <Options others={others} />
      </select>
      <button
        type="button"
        className="button"
        disabled={!to}
        onClick={() => {
          add(type, to);
          setTo('');
        }}
      >
        Connect
      </button>
    </div>
  );
}

function made(from: string, to: string, type: EdgeType, ways: readonly FlowEdge[]): FlowEdge {
  const beside = ways.find((way) => way.type === type);
  if (type === 'conditional') return { from, to, type, condition: '#{true}', value: true };
  if (type === 'switch') return { from, to, type, expression: beside?.expression ?? '#{kind}', value: '' };
  return { from, to, type };
}

/** The decisions of a kind, in the order of their first way. */
function distinct(
  ways: readonly FlowEdge[],
  type: EdgeType,
  of: (way: FlowEdge) => string,
): readonly string[] {
  return [...new Set(ways.filter((way) => way.type === type).map(of))];
}
