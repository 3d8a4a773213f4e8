import { useQueries } from '@tanstack/react-query';
import { useContext } from 'react';
import { api, got } from '../api/client';
import { Sample } from './ExpressionInput';

export interface Part {
  readonly title: string;
  readonly text: string;
}

/** What would be sent for the sample context, as text: nothing in it is drawn, fetched or run. */
export function Preview({ parts }: { parts: readonly Part[] }) {
  const sample = useContext(Sample) ?? {};
  const tried = Object.keys(sample).length > 0;
  const values = useQueries({
    queries: parts.map(({ text }) => ({
      queryKey: ['evaluated', text, sample],
      queryFn: () =>
        got(api.POST('/api/expressions/evaluate', { body: { expression: text, context: sample } })),
      enabled: tried && /[#@$]\{/.test(text),
      retry: false,
    })),
  });
  return (
    <section className="stack preview" aria-label="Preview">
      <h3>Preview</h3>
      {parts.length === 0 && <p className="quiet">Nothing is written yet.</p>}
      <dl className="facts">
        {parts.map(({ title, text }, index) => (
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

export function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
