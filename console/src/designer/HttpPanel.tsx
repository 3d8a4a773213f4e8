import { useId } from 'react';
import { isObject, type JsonObject } from '../graph/flow';
import { useSettled } from '../ui/useSettled';
import { ExpressionInput } from './ExpressionInput';
import { At } from './fields';
import { type Part, Preview, textOf } from './Preview';
import { SchemaForm } from './SchemaForm';
import type { Schema } from './schema';

interface Props {
  readonly schema: Schema;
  readonly value: JsonObject;
  readonly change: (value: JsonObject) => void;
  readonly leaveOut: readonly string[];
}

/** Which fields an authentication needs, by its kind. */
const AUTH: Record<string, readonly string[]> = {
  none: [],
  bearer: ['token'],
  basic: ['username', 'password'],
  header: ['header', 'value'],
};

/** A request as it is read: what and where, who asks, what is sent; and how it looks for the sample. */
export function HttpPanel({ schema, value, change, leaveOut }: Props) {
  const id = useId();
  const set = (name: string, now: unknown) => {
    const { [name]: _, ...rest } = value;
    change(now === undefined ? rest : { ...value, [name]: now });
  };
  const methods = (schema.properties?.method?.enum ?? ['GET']).map(String);
  const method = String(value.method ?? 'GET');
  return (
    <div className="form">
      <div className="request-line">
        <div className="field">
          <label htmlFor={`${id}-method`}>Method</label>
          <select
            id={`${id}-method`}
            className="input"
            value={method}
            onChange={(event) => set('method', event.target.value)}
          >
            {[...new Set([...methods, method])].map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </div>
        <div className="field">
          <label id={`${id}-url-label`} htmlFor={`${id}-url`}>
            Address<span className="needed">needed</span>
          </label>
          <At value="/url">
            <ExpressionInput
              id={`${id}-url`}
              value={textOf(value.url)}
              placeholder="https://api.example.com/orders/#{orderId}"
              long={false}
              change={(text) => set('url', text || undefined)}
            />
          </At>
        </div>
      </div>
      <At value="/auth">
        <Authentication schema={schema} value={value.auth} change={(now) => set('auth', now)} />
      </At>
      <SchemaForm
        schema={schema}
        root={schema}
        value={value}
        change={change}
        leaveOut={['url', 'method', 'auth', ...leaveOut]}
      />
      <Preview parts={partsOf(useSettled(value), method)} />
    </div>
  );
}

function Authentication({
  schema,
  value,
  change,
}: {
  schema: Schema;
  value: unknown;
  change: (value: unknown) => void;
}) {
  const auth = isObject(value) ? value : {};
  const whole = schema.properties?.auth;
  const kind = String(auth.type ?? 'none');
  const names = AUTH[kind] ?? Object.keys(whole?.properties ?? {});
  return (
    <>
      <label className="field">
        <span>Authentication</span>
        <select
          className="input"
          value={kind}
          onChange={(event) =>
            change(event.target.value === 'none' ? undefined : { type: event.target.value })
          }
        >
          {(whole?.properties?.type?.enum ?? []).map((each) => (
            <option key={String(each)}>{String(each)}</option>
          ))}
        </select>
      </label>
      {names.length > 0 && (
        <SchemaForm
          key={kind}
          schema={{
            type: 'object',
            required: names,
            properties: Object.fromEntries(names.map((name) => [name, whole?.properties?.[name] ?? {}])),
          }}
          root={schema}
          value={auth}
          change={change}
        />
      )}
    </>
  );
}

/** Secrets are in no sample: who asks is not part of it. */
function partsOf(config: JsonObject, method: string): readonly Part[] {
  const query = pairs(config.query)
    .map(([name, text]) => `${name}=${text}`)
    .join('&');
  const address = textOf(config.url);
  const parts = [
    {
      title: method,
      text: address && query ? `${address}${address.includes('?') ? '&' : '?'}${query}` : address,
    },
    ...pairs(config.headers).map(([title, text]) => ({ title, text })),
    { title: 'Body', text: textOf(config.body) },
  ];
  return parts.filter(({ text }) => text);
}

function pairs(value: unknown): readonly (readonly [string, string])[] {
  return isObject(value) ? Object.entries(value).map(([name, each]) => [name, textOf(each)] as const) : [];
}
