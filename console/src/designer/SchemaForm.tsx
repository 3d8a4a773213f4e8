import { useContext, useId, useState } from 'react';
import { isObject, type JsonObject } from '../graph/flow';
import { Cases } from './Cases';
import { ExpressionInput } from './ExpressionInput';
import { At, Plain } from './fields';
import { Pairs } from './Pairs';
import { conditioned, isLong, kindOf, resolved, type Schema, titleOf } from './schema';
import { anything, BROKEN, scalar, shown, useTyped } from './typed';
import { useKnown } from './useKnown';

interface Props {
  readonly schema: Schema;
  readonly root: Schema;
  readonly value: JsonObject;
  readonly change: (value: JsonObject) => void;
  readonly leaveOut?: readonly string[];
}

const SHOWN = 4;

/** A form from a JSON Schema: what is set or needed first, the rest behind a word. */
export function SchemaForm({ schema, root, value, change, leaveOut = [] }: Props) {
  const whole = conditioned(schema, value);
  const names = Object.keys(whole.properties ?? {}).filter((name) => !leaveOut.includes(name));
  const first = names.filter(
    (name, index) => index < SHOWN || value[name] !== undefined || whole.required?.includes(name),
  );
  const others = names.filter((name) => !first.includes(name));
  const at = useContext(At);
  const field = (name: string) => (
    <At key={name} value={`${at}/${name}`}>
      <Field
        name={name}
        schema={resolved(whole.properties?.[name] ?? {}, root)}
        root={root}
        needed={whole.required?.includes(name) ?? false}
        value={value[name]}
        change={(now) => change(set(value, name, now))}
      />
    </At>
  );
  return (
    <div className="form">
      {names.length === 0 && leaveOut.length === 0 && <p className="quiet">There is nothing to set.</p>}
      {first.map(field)}
      {others.length > 0 && <More label={`${others.length} more`}>{() => others.map(field)}</More>}
    </div>
  );
}

function set(value: JsonObject, name: string, now: unknown): JsonObject {
  const { [name]: _, ...rest } = value;
  return now === undefined ? rest : { ...value, [name]: now };
}

function More({ label, children }: { label: string; children: () => React.ReactNode }) {
  const [open, setOpen] = useState(false);
  return (
    <div className="more">
      <button type="button" className="fold-button" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span aria-hidden="true">{open ? '▾' : '▸'}</span> {label}
      </button>
      {open && <div className="form">{children()}</div>}
    </div>
  );
}

interface FieldProps {
  readonly name: string;
  readonly schema: Schema;
  readonly root: Schema;
  readonly needed: boolean;
  readonly value: unknown;
  readonly change: (value: unknown) => void;
}

function Field(props: FieldProps) {
  const { name, schema, needed, value } = props;
  const id = useId();
  const kind = kindOf(schema);
  if (kind === 'group') return <Group {...props} />;
  if (kind === 'records') return <Records {...props} />;
  if (kind === 'map') return <Named {...props} />;
  return (
    <div className="field">
      <label id={`${id}-label`} htmlFor={id}>
        {titleOf(name, schema)}
        {needed && <span className="needed">needed</span>}
      </label>
      <Control id={id} kind={kind} {...props} value={value} />
      {schema.description && <small>{plain(schema.description)}</small>}
    </div>
  );
}

function plain(text: string): string {
  return text.replaceAll('`', '');
}

function Control({ id, kind, name, schema, value, change }: FieldProps & { id: string; kind: string }) {
  const known = useKnown(schema.format);
  const plain = useContext(Plain);
  const hint =
    schema.default !== undefined
      ? shown(schema.default)
      : schema.examples?.length
        ? shown(schema.examples[0])
        : '';
  switch (kind) {
    case 'choice':
      return <Choice id={id} schema={schema} value={value} change={change} />;
    case 'switch':
      return (
        <select
          id={id}
          className="input"
          value={String(value ?? '')}
          onChange={(event) => change(switched(event.target.value))}
        >
          <option value="">
            {schema.default === undefined ? 'not set' : `${schema.default ? 'yes' : 'no'} (default)`}
          </option>
          <option value="true">yes</option>
          <option value="false">no</option>
        </select>
      );
    case 'lines':
      return <Lines id={id} value={value} change={change} />;
    case 'any':
      return <Anything id={id} hint={hint} value={value} change={change} />;
    default:
      if (plain)
        return (
          <input
            id={id}
            className="input"
            value={value === undefined ? '' : shown(value)}
            placeholder={hint}
            onChange={(event) =>
              change(scalar(event.target.value, kind === 'number' || Array.isArray(schema.type)))
            }
          />
        );
      return (
        <ExpressionInput
          id={id}
          value={value === undefined ? '' : shown(value)}
          placeholder={hint}
          long={isLong(name, schema)}
          known={known.map(({ key }) => key)}
          change={(text) => change(scalar(text, kind === 'number' || Array.isArray(schema.type)))}
        />
      );
  }
}

function Choice({
  id,
  schema,
  value,
  change,
}: Pick<FieldProps, 'schema' | 'value' | 'change'> & { id: string }) {
  return (
    <select
      id={id}
      className="input"
      value={value === undefined ? '' : String(value)}
      onChange={(event) => change(event.target.value || undefined)}
    >
      <option value="">
        {schema.default === undefined ? 'not set' : `${String(schema.default)} (default)`}
      </option>
      {schema.enum?.map((each) => (
        <option key={String(each)} value={String(each)}>
          {String(each)}
        </option>
      ))}
    </select>
  );
}

function Lines({ id, value, change }: Pick<FieldProps, 'value' | 'change'> & { id: string }) {
  const [text, type] = useTyped(value, (given) =>
    Array.isArray(given) ? given.map(shown).join('\n') : given === undefined ? '' : shown(given),
  );
  return (
    <textarea
      id={id}
      className="input"
      rows={2}
      placeholder="one on each line"
      value={text}
      onChange={(event) => {
        const lines = event.target.value.split('\n').filter((line) => line.trim());
        const means = lines.length ? lines : undefined;
        type(event.target.value, means);
        change(means);
      }}
    />
  );
}

/** Text, or JSON where it reads as such. */
function Anything({
  id,
  hint,
  value,
  change,
}: { id: string; hint: string } & Pick<FieldProps, 'value' | 'change'>) {
  const [text, type] = useTyped(value, (given) => (given === undefined ? '' : shown(given)));
  return (
    <>
      <ExpressionInput
        id={id}
        value={text}
        placeholder={hint}
        long="grows"
        change={(now) => {
          const means = anything(now);
          type(now, means === BROKEN ? value : means);
          if (means !== BROKEN) change(means);
        }}
      />
      {anything(text) === BROKEN && <small className="error-words">This is no JSON yet.</small>}
    </>
  );
}

/** An object with names of the author's: forms where each has fields, else rows. */
function Named({ name, schema, root, value, change, needed }: FieldProps) {
  const title = titleOf(name, schema);
  const each = isObject(schema.additionalProperties) ? resolved(schema.additionalProperties, root) : {};
  if (!each.properties)
    return <Pairs title={title} schema={schema} needed={needed} value={value} change={change} />;
  return (
    <fieldset>
      <legend>
        {title}
        {needed && <span className="needed">needed</span>}
      </legend>
      <Cases schema={each} root={root} value={value} change={change} />
    </fieldset>
  );
}

function Group({ name, schema, root, value, change, needed }: FieldProps) {
  const inner = isObject(value) ? value : {};
  const [open, setOpen] = useState(value !== undefined && Object.keys(inner).length > 0);
  return (
    <fieldset>
      <legend>
        <button type="button" className="fold-button" aria-expanded={open} onClick={() => setOpen(!open)}>
          <span aria-hidden="true">{open ? '▾' : '▸'}</span> {titleOf(name, schema)}
          {needed && <span className="needed">needed</span>}
        </button>
      </legend>
      {open && (
        <SchemaForm
          schema={schema}
          root={root}
          value={inner}
          change={(now) => change(Object.keys(now).length || needed ? now : undefined)}
        />
      )}
    </fieldset>
  );
}

function Records({ name, schema, root, value, change, needed }: FieldProps) {
  const records = Array.isArray(value) ? value : [];
  const items = resolved(schema.items ?? {}, root);
  const at = useContext(At);
  const replace = (index: number, now: unknown) =>
    change(records.map((each, at) => (at === index ? now : each)));
  return (
    <fieldset>
      <legend>
        {titleOf(name, schema)}
        {needed && <span className="needed">needed</span>}
      </legend>
      {records.map((record, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: records have no names but their places
        <div key={index} className="record">
          <At value={`${at}/${index}`}>
            <SchemaForm
              schema={items}
              root={root}
              value={isObject(record) ? record : {}}
              change={(now) => replace(index, now)}
            />
          </At>
          <button
            type="button"
            className="button small"
            onClick={() => change(records.filter((_, at) => at !== index))}
          >
            Remove
          </button>
        </div>
      ))}
      <button type="button" className="button small" onClick={() => change([...records, {}])}>
        Add one
      </button>
    </fieldset>
  );
}

function switched(text: string): boolean | undefined {
  return text === '' ? undefined : text === 'true';
}
