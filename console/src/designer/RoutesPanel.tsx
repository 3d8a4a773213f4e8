import { useId, useState } from 'react';
import type { Edit } from '../graph/edit';
import { type EdgeType, type Flow, type FlowEdge, type FlowNode, implied, nameOf } from '../graph/flow';
import { Icon } from '../ui/Icon';
import { ExpressionInput } from './ExpressionInput';
import { At, Marks } from './fields';
import type { Found } from './useProblems';

interface Props {
  readonly flow: Flow;
  readonly node: FlowNode;
  readonly problems: readonly Found[];
  readonly edit: (edit: Edit) => void;
  /** Go on with a way, by its place among the flow's. */
  readonly choose: (index: number) => void;
}

const WHEN: readonly (readonly [EdgeType, string])[] = [
  ['goto', 'always'],
  ['conditional', 'if a condition holds'],
  ['switch', 'for one value'],
  ['error', 'when it fails'],
];

/** What follows, and when: each decision as a whole, with all its ways. For the keyboard, too. */
export function RoutesPanel({ flow, node, problems, edit, choose }: Props) {
  const [ways, tell] = useDecisions(flow, node.id, edit);
  const others = flow.nodes.filter((other) => other.id !== node.id);
  const given: Ways = { ways, others, tell, open: (way) => choose(flow.edges.indexOf(way)) };
  const plain = ways.filter(({ way }) => way.type === 'goto' || way.type === 'error');
  const next = implied(flow).find((way) => way.from === node.id);
  const add = (type: EdgeType, to: string) => {
    const beside = ways.find(({ way }) => way.type === type && type === 'switch');
    const way = made(node.id, to, type, beside?.way);
    tell([...ways, { way, decision: beside?.decision ?? fresh(ways) }]);
  };
  return (
    <div className="form">
      {ways.length === 0 && (
        <p className="quiet">
          {next
            ? `No way is drawn in this workflow, so each node leads to the next: this one to ${next.to}.`
            : 'Nothing follows it: the path ends here.'}
        </p>
      )}
      {plain.map(({ way }) => (
        <div key={`${way.type} ${way.to}`} className="way">
          <span className="tag">{way.type === 'error' ? 'when it fails' : 'always'}</span>
          <Target {...given} way={way} label={way.type === 'error' ? 'Then' : 'Leads to'} />
        </div>
      ))}
      {decisions(ways, 'conditional').map((decision) => (
        <Marks key={decision} value={marked(flow, problems, ways, decision)}>
          <Condition {...given} decision={decision} from={node.id} />
        </Marks>
      ))}
      {decisions(ways, 'switch').map((decision) => (
        <Marks key={decision} value={marked(flow, problems, ways, decision)}>
          <Switch {...given} decision={decision} from={node.id} />
        </Marks>
      ))}
      {others.length > 0 && <Another others={others} add={add} />}
    </div>
  );
}

/** A way, and which decision it belongs to: what it says may be the same as what another says. */
interface Decided {
  readonly way: FlowEdge;
  readonly decision: number;
}

interface Ways {
  readonly ways: readonly Decided[];
  readonly others: readonly FlowNode[];
  readonly tell: (ways: readonly Decided[]) => void;
  readonly open: (way: FlowEdge) => void;
}

/** The ways of a node by decisions: as they are told apart here, or, where they come from elsewhere, by what they say. */
function useDecisions(
  flow: Flow,
  id: string,
  edit: (edit: Edit) => void,
): [readonly Decided[], (ways: readonly Decided[]) => void] {
  const [told, keep] = useState<readonly Decided[]>([]);
  const now = flow.edges.filter((edge) => edge.from === id);
  const same = told.length === now.length && told.every(({ way }, at) => way === now[at]);
  const tell = (ways: readonly Decided[]) => {
    keep(ways);
    edit({ kind: 'ways', id, edges: ways.map(({ way }) => way) });
  };
  return [same ? told : bySaying(now), tell];
}

function bySaying(ways: readonly FlowEdge[]): readonly Decided[] {
  const said = [...new Set(ways.map(saying))];
  return ways.map((way) => ({ way, decision: said.indexOf(saying(way)) }));
}

function saying(way: FlowEdge): string {
  return `${way.type} ${way.condition ?? way.expression ?? ''}`;
}

function decisions(ways: readonly Decided[], type: EdgeType): readonly number[] {
  return [...new Set(ways.filter(({ way }) => way.type === type).map(({ decision }) => decision))];
}

function fresh(ways: readonly Decided[]): number {
  return Math.max(-1, ...ways.map(({ decision }) => decision)) + 1;
}

/** What is wrong with a decision, by the fields of its ways. */
function marked(flow: Flow, problems: readonly Found[], ways: readonly Decided[], decision: number) {
  const mine = ways.filter((each) => each.decision === decision).map(({ way }) => flow.edges.indexOf(way));
  const about = problems.filter(({ spot }) => spot.kind === 'edge' && mine.includes(spot.index));
  return new Map(about.map((each) => [each.pointer.replace(/^\/routing\/\d+/, ''), each]));
}

type Deciding = Ways & { readonly decision: number; readonly from: string };

function Condition({ decision, from, ...given }: Deciding) {
  const id = useId();
  const { ways, others, tell } = given;
  const mine = ways.filter((each) => each.decision === decision);
  const condition = mine[0]?.way.condition ?? '';
  const lead = (to: string, holds: boolean) => {
    const way: FlowEdge = { from, to, type: 'conditional', condition, value: holds };
    tell([...ways, { way, decision }]);
  };
  return (
    <fieldset>
      <legend>
        <label id={`${id}-label`} htmlFor={id}>
          If
        </label>
      </legend>
      <At value="/condition">
        <ExpressionInput
          id={id}
          value={condition}
          placeholder="#{order.total > 100}"
          long={false}
          change={(now) => tell(replaced(ways, decision, { condition: now }))}
        />
      </At>
      {[true, false].map((holds) => {
        const there = mine.filter(({ way }) => (way.value !== false) === holds);
        const label = holds ? 'Then' : 'Else';
        return there.length ? (
          there.map(({ way }) => <Target key={`${label} ${way.to}`} {...given} way={way} label={label} />)
        ) : (
          <Nowhere key={label} label={label} others={others} lead={(to) => lead(to, holds)} />
        );
      })}
    </fieldset>
  );
}

function Switch({ decision, from, ...given }: Deciding) {
  const id = useId();
  const { ways, others, tell } = given;
  const mine = ways.filter((each) => each.decision === decision);
  const expression = mine[0]?.way.expression ?? '';
  const cases = mine.filter(({ way }) => !way.isDefault);
  const otherwise = mine.filter(({ way }) => way.isDefault);
  const value = (of: FlowEdge, now: string) =>
    tell(ways.map((each) => (each.way === of ? { ...each, way: { ...of, value: now } } : each)));
  const lead = (to: string, which: Partial<FlowEdge>) =>
    tell([...ways, { way: { from, to, type: 'switch', expression, ...which }, decision }]);
  return (
    <fieldset>
      <legend>
        <label id={`${id}-label`} htmlFor={id}>
          By the value of
        </label>
      </legend>
      <At value="/expression">
        <ExpressionInput
          id={id}
          value={expression}
          placeholder="#{customer.kind}"
          long={false}
          change={(now) => tell(replaced(ways, decision, { expression: now }))}
        />
      </At>
      {cases.map(({ way }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: while it is typed a case has no name but its place
        <div key={at} className="way case-way">
          <input
            className="input mono"
            aria-label={`Value ${at + 1}`}
            placeholder="value"
            value={String(way.value ?? '')}
            onChange={(event) => value(way, event.target.value)}
          />
          <Target {...given} way={way} label={`Then ${at + 1}`} bare />
        </div>
      ))}
      <Nowhere label="Another value" others={others} lead={(to) => lead(to, { value: '' })} />
      {otherwise.length ? (
        otherwise.map(({ way }) => <Target key={way.to} {...given} way={way} label="Otherwise" />)
      ) : (
        <Nowhere label="Otherwise" others={others} lead={(to) => lead(to, { isDefault: true })} />
      )}
    </fieldset>
  );
}

function replaced(ways: readonly Decided[], decision: number, change: Partial<FlowEdge>): readonly Decided[] {
  return ways.map((each) =>
    each.decision === decision ? { ...each, way: { ...each.way, ...change } } : each,
  );
}

/** Where a way leads, and whether it is there at all. */
function Target({
  ways,
  others,
  tell,
  open,
  way,
  label,
  bare,
}: Ways & { way: FlowEdge; label: string; bare?: boolean }) {
  const lead = (to: string) =>
    tell(ways.map((each) => (each.way === way ? { ...each, way: { ...way, to } } : each)));
  return (
    <div className="target">
      {!bare && <span aria-hidden="true">{label}</span>}
      <select
        className="input"
        aria-label={label}
        value={way.to}
        onChange={(event) => lead(event.target.value)}
      >
        <Options others={others} />
        {!others.some(({ id }) => id === way.to) && <option value={way.to}>{way.to}</option>}
      </select>
      {way.type !== 'error' && (
        <button
          type="button"
          className="icon-button"
          title="When it is taken, and until when"
          aria-label={`About the way to ${way.to}`}
          onClick={() => open(way)}
        >
          <Icon name="clock" />
        </button>
      )}
      <button
        type="button"
        className="icon-button"
        aria-label={`Remove the way to ${way.to}`}
        onClick={() => tell(ways.filter((each) => each.way !== way))}
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

function made(from: string, to: string, type: EdgeType, beside: FlowEdge | undefined): FlowEdge {
  if (type === 'conditional') return { from, to, type, condition: '#{true}', value: true };
  if (type === 'switch') return { from, to, type, expression: beside?.expression ?? '#{kind}', value: '' };
  return { from, to, type };
}
