import { useContext, useId, useMemo } from 'react';
import type { Edit } from '../graph/edit';
import type { EdgeType, Flow, FlowEdge } from '../graph/flow';
import { ExpressionInput } from './ExpressionInput';
import { At, Editing, Marks, Plain } from './fields';
import { PanelProblems } from './PanelProblems';
import { SchemaForm } from './SchemaForm';
import type { Schema } from './schema';
import type { Found } from './useProblems';

interface Props {
  readonly flow: Flow;
  readonly index: number;
  readonly problems: readonly Found[];
  readonly edit: (edit: Edit) => void;
  readonly close: () => void;
}

const TYPES: readonly (readonly [EdgeType, string])[] = [
  ['goto', 'always'],
  ['conditional', 'if a condition holds, or not'],
  ['switch', 'for one value of an expression'],
];

/** Until when what it leads to has to be done: then it is watched, and on the wallboard. */
const DEADLINE: Schema = {
  type: 'object',
  properties: {
    maxLatencySec: { type: 'integer', title: 'Seconds at most', examples: [3600] },
    absoluteDeadline: {
      type: 'string',
      title: 'By this time of day',
      description: 'HH:mm, with Z or an offset, else in the workflow’s zone.',
      examples: ['17:30Z'],
    },
    severity: { enum: ['green', 'amber', 'red'], title: 'A miss is', default: 'amber' },
  },
};

/** When this way is taken. */
export function EdgePanel({ flow, index, problems, edit, close }: Props) {
  const id = useId();
  const editable = useContext(Editing);
  const marks = useMemo(
    () => new Map(problems.map((each) => [each.pointer.replace(/^\/routing\/\d+/, ''), each])),
    [problems],
  );
  const edge = flow.edges[index];
  if (!edge) return null;
  const change = (changes: Partial<FlowEdge>) => edit({ kind: 'edge', index, edge: { ...edge, ...changes } });
  return (
    <div className="node-panel">
      <header>
        <div>
          <h2 className="cut">
            {edge.from} → {edge.to}
          </h2>
          <p className="quiet">When this way is taken</p>
        </div>
      </header>
      <PanelProblems problems={problems} />
      <Marks value={marks}>
        <fieldset className="form panel-body bare" disabled={!editable}>
          {edge.type === 'error' ? (
            <p className="note">It is taken when {edge.from} fails for good.</p>
          ) : (
            <label className="field">
              <span>Taken</span>
              <select
                className="input"
                value={edge.type}
                onChange={(event) => change(typed(event.target.value as EdgeType, edge))}
              >
                {TYPES.map(([type, says]) => (
                  <option key={type} value={type}>
                    {says}
                  </option>
                ))}
              </select>
            </label>
          )}
          {edge.type === 'conditional' && (
            <>
              <div className="field">
                <label id={`${id}-label`} htmlFor={id}>
                  Condition
                </label>
                <At value="/condition">
                  <ExpressionInput
                    id={id}
                    value={edge.condition ?? ''}
                    placeholder="#{order.total > 100}"
                    long={false}
                    change={(condition) => change({ condition })}
                  />
                </At>
              </div>
              <label className="field">
                <span>Taken when it is</span>
                <select
                  className="input"
                  value={String(edge.value !== false)}
                  onChange={(event) => change({ value: event.target.value === 'true' })}
                >
                  <option value="true">true</option>
                  <option value="false">false</option>
                </select>
              </label>
            </>
          )}
          {edge.type === 'switch' && (
            <>
              <div className="field">
                <label id={`${id}-label`} htmlFor={id}>
                  Expression
                </label>
                <At value="/expression">
                  <ExpressionInput
                    id={id}
                    value={edge.expression ?? ''}
                    placeholder="#{customer.kind}"
                    long={false}
                    change={(expression) => change({ expression })}
                  />
                </At>
              </div>
              <label className="field">
                <span>Value</span>
                <input
                  className="input"
                  disabled={edge.isDefault === true}
                  value={edge.isDefault ? '' : String(edge.value ?? '')}
                  onChange={(event) => change({ value: event.target.value })}
                />
              </label>
              <label className="inline">
                <input
                  type="checkbox"
                  className="choice"
                  checked={edge.isDefault === true}
                  onChange={(event) =>
                    change(
                      event.target.checked
                        ? { isDefault: true, value: undefined }
                        : { isDefault: false, value: '' },
                    )
                  }
                />
                Otherwise: what fits no other value
              </label>
            </>
          )}
          {edge.type !== 'error' && (
            <fieldset>
              <legend>Deadline</legend>
              <Plain value={true}>
                <SchemaForm
                  schema={DEADLINE}
                  root={DEADLINE}
                  value={edge.rest ?? {}}
                  change={(rest) => change({ rest })}
                />
              </Plain>
            </fieldset>
          )}
          <button
            type="button"
            className="button"
            onClick={() => {
              edit({ kind: 'remove', nodes: new Set(), edges: new Set([index]) });
              close();
            }}
          >
            Remove this way
          </button>
        </fieldset>
      </Marks>
    </div>
  );
}

function typed(type: EdgeType, edge: FlowEdge): Partial<FlowEdge> {
  if (type === 'conditional') return { type, condition: edge.condition ?? '#{true}', value: true };
  if (type === 'switch') return { type, expression: edge.expression ?? '#{kind}', value: edge.value ?? '' };
  return { type };
}
