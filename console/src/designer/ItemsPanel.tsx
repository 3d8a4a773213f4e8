import { isObject, type JsonObject } from '../graph/flow';
import { Cases } from './Cases';
import { At } from './fields';
import { SchemaForm } from './SchemaForm';
import { resolved, type Schema } from './schema';

interface Props {
  readonly schema: Schema;
  readonly value: JsonObject;
  readonly change: (value: JsonObject) => void;
}

export const OF_ITEMS = ['on', 'forEach', 'onItemError'] as const;
/** What a loop says of itself, and not of what is done for an item. */
const OF_LOOP = ['operation', 'on', 'cases', 'default', 'eval', 'concurrency', 'batchSize', 'forEach'];

export function worksOnItems(schema: Schema): boolean {
  return schema.properties?.on !== undefined && schema.properties.forEach !== undefined;
}

/** Doing it for each item of a list: the same for all, or by cases. */
export function ItemsPanel({ schema, value, change }: Props) {
  const loop = isObject(value.forEach) ? value.forEach : {};
  const byCases = loop.operation === 'SWITCH';
  const used = value.on !== undefined || value.forEach !== undefined;
  const part = (...names: string[]): Schema => ({
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, schema.properties?.[name] ?? {}])),
  });
  const setLoop = (now: JsonObject) => {
    const { forEach: _, ...rest } = value;
    change(Object.keys(now).length ? { ...rest, forEach: now } : rest);
  };
  return (
    <section
      className={used ? 'form event-card on' : 'form event-card'}
      role="group"
      aria-label="For each item"
    >
      <SchemaForm schema={part('on')} root={schema} value={value} change={change} />
      {used && (
        <>
          <div className="segments" role="group" aria-label="What is done">
            <button type="button" aria-pressed={!byCases} onClick={() => setLoop(without(loop, 'operation'))}>
              The same for each
            </button>
            <button
              type="button"
              aria-pressed={byCases}
              onClick={() => setLoop({ ...loop, operation: 'SWITCH' })}
            >
              By cases
            </button>
          </div>
          <At value="/forEach">
            {byCases ? (
              <ByCases schema={schema} loop={loop} change={setLoop} />
            ) : (
              <SchemaForm
                key="same"
                schema={bodyFirst(resolved(schema.properties?.forEach ?? {}, schema))}
                root={schema}
                value={loop}
                change={setLoop}
                leaveOut={['operation', 'on', 'cases', 'default']}
              />
            )}
          </At>
          <SchemaForm schema={part('onItemError')} root={schema} value={value} change={change} />
        </>
      )}
    </section>
  );
}

function ByCases({
  schema,
  loop,
  change,
}: {
  schema: Schema;
  loop: JsonObject;
  change: (loop: JsonObject) => void;
}) {
  const whole = resolved(schema.properties?.forEach ?? {}, schema);
  const body = bodyFirst(resolved({ $ref: '#/$defs/case' }, schema));
  const set = (name: string, now: unknown) =>
    change(now === undefined ? without(loop, name) : { ...loop, [name]: now });
  const only: Schema = { type: 'object', properties: { on: whole.properties?.on ?? {} }, required: ['on'] };
  return (
    <>
      <SchemaForm schema={only} root={schema} value={loop} change={change} />
      <At value="/forEach/cases">
        <Cases schema={body} root={schema} value={loop.cases} change={(now) => set('cases', now)} />
      </At>
      <fieldset className="case">
        <legend>
          <label className="inline">
            <input
              type="checkbox"
              className="choice"
              checked={isObject(loop.default)}
              onChange={(event) => set('default', event.target.checked ? {} : undefined)}
            />
            Otherwise
          </label>
        </legend>
        {isObject(loop.default) ? (
          <At value="/forEach/default">
            <SchemaForm
              schema={body}
              root={schema}
              value={loop.default}
              change={(now) => set('default', now)}
            />
          </At>
        ) : (
          <p className="quiet">Nothing is done for an item that fits no case.</p>
        )}
      </fieldset>
    </>
  );
}

function bodyFirst(schema: Schema): Schema {
  const names = Object.keys(schema.properties ?? {});
  const order = [
    ...names.filter((name) => !OF_LOOP.includes(name)),
    ...names.filter((name) => OF_LOOP.includes(name)),
  ];
  return {
    ...schema,
    properties: Object.fromEntries(order.map((name) => [name, schema.properties?.[name] ?? {}])),
  };
}

function without(value: JsonObject, name: string): JsonObject {
  const { [name]: _, ...rest } = value;
  return rest;
}
