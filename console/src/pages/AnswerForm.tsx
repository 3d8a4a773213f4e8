import { useId } from 'react';
import { isObject, type JsonObject } from '../graph/flow';

interface Props {
  /** A JSON Schema of an object. */
  readonly schema: JsonObject;
  readonly value: JsonObject;
  readonly change: (value: JsonObject) => void;
}

/** What somebody is asked, field by field; what no field is for is typed as JSON. */
export function AnswerForm({ schema, value, change }: Props) {
  const needed = Array.isArray(schema.required) ? schema.required : [];
  const fields = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  return fields.map(([name, each]) => (
    <Field
      key={name}
      name={name}
      schema={isObject(each) ? each : {}}
      needed={needed.includes(name)}
      value={value[name]}
      change={(now) => change(withField(value, name, now))}
    />
  ));
}

function withField(value: JsonObject, name: string, now: unknown): JsonObject {
  const { [name]: _, ...rest } = value;
  return now === undefined ? rest : { ...value, [name]: now };
}

interface FieldProps {
  readonly name: string;
  readonly schema: JsonObject;
  readonly needed: boolean;
  readonly value: unknown;
  readonly change: (value: unknown) => void;
}

function Field(props: FieldProps) {
  const { name, schema, needed, value, change } = props;
  const id = useId();
  const title = typeof schema.title === 'string' ? schema.title : name;
  if (schema.type === 'boolean') {
    return (
      <label className="inline">
        <input
          type="checkbox"
          className="choice"
          checked={value === true}
          onChange={(event) => change(event.target.checked)}
        />
        {title}
      </label>
    );
  }
  return (
    <div className="field">
      <label htmlFor={id}>
        {title}
        {needed && <span className="quiet"> (needed)</span>}
      </label>
      {Array.isArray(schema.enum) ? (
        <select
          id={id}
          className="input"
          value={schema.enum.indexOf(value)}
          onChange={(event) => change((schema.enum as unknown[])[Number(event.target.value)])}
        >
          <option value={-1}>–</option>
          {schema.enum.map((each, at) => (
            <option key={String(each)} value={at}>
              {String(each)}
            </option>
          ))}
        </select>
      ) : (
        <Typed {...props} id={id} />
      )}
      {typeof schema.description === 'string' && <small>{schema.description}</small>}
    </div>
  );
}

function Typed({ id, schema, value, change }: FieldProps & { id: string }) {
  if (schema.type === 'number' || schema.type === 'integer') {
    return (
      <input
        id={id}
        className="input"
        type="number"
        step={schema.type === 'integer' ? 1 : 'any'}
        value={typeof value === 'number' ? value : ''}
        onChange={(event) => change(event.target.value === '' ? undefined : Number(event.target.value))}
      />
    );
  }
  if (schema.type === 'string') {
    return (
      <input
        id={id}
        className="input"
        value={typeof value === 'string' ? value : ''}
        onChange={(event) => change(event.target.value || undefined)}
      />
    );
  }
  return (
    <textarea
      id={id}
      className="input"
      rows={3}
      placeholder="JSON"
      onChange={(event) => change(readOr(event.target.value))}
    />
  );
}

/** JSON, or what is not, as text. */
function readOr(text: string): unknown {
  if (!text.trim()) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
