import { isObject, type JsonObject } from '../graph/flow';
import { At } from './fields';
import { SchemaForm } from './SchemaForm';
import type { Schema } from './schema';
import { useKnown } from './useKnown';

interface Props {
  readonly schema: Schema;
  /** The field that names the query or the action. */
  readonly field: 'prebuiltKey' | 'actionType';
  readonly value: JsonObject;
  readonly change: (value: JsonObject) => void;
  readonly leaveOut: readonly string[];
}

/** A registered query or action: chosen by its key, shown with what it does, its parameters as its own form. */
export function StatementPanel({ schema, field, value, change, leaveOut }: Props) {
  const known = useKnown(schema.properties?.[field]?.format);
  const chosen = known.find(({ key }) => key === value[field]);
  const names = Object.keys(chosen?.params.properties ?? {});
  const given = isObject(value.params) ? value.params : {};
  const own =
    chosen !== undefined && names.length > 0 && Object.keys(given).every((name) => names.includes(name));
  return (
    <>
      <SchemaForm
        schema={schema}
        root={schema}
        value={value}
        change={change}
        leaveOut={own ? ['params', ...leaveOut] : leaveOut}
      />
      {chosen && (
        <section className="form" aria-label={`About ${chosen.key}`}>
          {own && (
            <fieldset>
              <legend>Parameters</legend>
              <At value="/params">
                <SchemaForm
                  key={chosen.key}
                  schema={field === 'actionType' ? { ...chosen.params, required: [] } : chosen.params}
                  root={chosen.params}
                  value={given}
                  change={(now) => {
                    const { params: _, ...rest } = value;
                    change(Object.keys(now).length ? { ...rest, params: now } : rest);
                  }}
                />
              </At>
              {field === 'actionType' && (
                <small className="quiet">What is not set here comes from the item.</small>
              )}
            </fieldset>
          )}
          {chosen.description && <p className="quiet">{chosen.description}</p>}
          {chosen.result && (
            <p className="quiet">
              Its rows become <code>{chosen.result}</code> in the context.
            </p>
          )}
          <pre className="code">{chosen.sql}</pre>
        </section>
      )}
    </>
  );
}
