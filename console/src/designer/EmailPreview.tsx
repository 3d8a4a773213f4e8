import { useQueries } from '@tanstack/react-query';
import { useContext } from 'react';
import { api, got } from '../api/client';
import { isObject, type JsonObject } from '../graph/flow';
import { useSettled } from '../ui/useSettled';
import { Sample } from './ExpressionInput';

const PARTS = [
  ['To', 'to'],
  ['Subject', 'subject'],
  ['Text', 'body'],
  ['HTML', 'html'],
] as const;

/** The message for the sample context, as text: nothing in it is drawn, fetched or run. */
export function EmailPreview({ config }: { config: JsonObject }) {
  const sample = useContext(Sample) ?? {};
  const message = messageOf(useSettled(config));
  const there = PARTS.flatMap(([title, name]) => {
    const text = textOf(message[name]);
    return text ? [{ title, text }] : [];
  });
  const tried = Object.keys(sample).length > 0;
  const values = useQueries({
    queries: there.map(({ text }) => ({
      queryKey: ['evaluated', text, sample],
      queryFn: () =>
        got(api.POST('/api/expressions/evaluate', { body: { expression: text, context: sample as never } })),
      enabled: tried && text.includes('{'),
      retry: false,
    })),
  });
  return (
    <section className="stack email-preview" aria-label="Preview">
      <h3>Preview</h3>
      {there.length === 0 && <p className="quiet">Nothing is written yet.</p>}
      <dl className="facts">
        {there.map(({ title, text }, index) => (
          <div key={title} className="fact">
            <dt>{title}</dt>
            <dd>
              {textOf(values[index]?.data?.value) || text}
              {values[index]?.error && (
                <small className="error-words">✕ {values[index]?.error?.message}</small>
              )}
            </dd>
          </div>
        ))}
      </dl>
      {!tried && (
        <p className="quiet">
          Give a sample context under <strong>Test run</strong>, with an <code>item</code> where there is a
          list, to see it filled in.
        </p>
      )}
    </section>
  );
}

/** What is sent for an item stands in `forEach`, and the rest beside it. */
function messageOf(config: JsonObject): JsonObject {
  const each = config.forEach;
  if (!isObject(each)) return config;
  return { ...config, ...each, ...(isObject(each.config) ? each.config : {}) };
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
