import { useQuery } from '@tanstack/react-query';
import { createContext, lazy, Suspense, useContext, useDeferredValue, useState } from 'react';
import { api, got, Refusal } from '../api/client';
import type { JsonObject } from '../graph/flow';
import { Editing, useMarked } from './fields';
import { isWhole } from './offers';

const ExpressionEditor = lazy(() => import('./ExpressionEditor'));

/** What expressions are tried on while they are typed; where there is nothing, they are not. */
export const Sample = createContext<JsonObject | null>(null);

const NOTHING: JsonObject = {};

interface Props {
  readonly id: string;
  readonly value: string;
  readonly placeholder: string;
  /** Several lines; `grows`: as many as there are. */
  readonly long: boolean | 'grows';
  readonly change: (text: string) => void;
  /** What may stand there, to choose from. */
  readonly known?: readonly string[];
  /** Its name, where no element `ID-label` says it. */
  readonly label?: string;
}

/** Text that may hold `#{…}`: completed from the sample, its value below while it is typed. */
export function ExpressionInput({ id, value, placeholder, long, change, known = [], label }: Props) {
  const sample = useContext(Sample) ?? NOTHING;
  const editable = useContext(Editing);
  const marked = useMarked();
  // Once shown, the value stays: what is below must not move away from under a click that ends the typing.
  const [touched, touch] = useState(false);
  const hasSample = Object.keys(sample).length > 0;
  const tried = touched && value !== '' && isWhole(value);
  const [result, wrong] = useEvaluated(value, sample, tried && hasSample);
  return (
    <div className="expression">
      <Suspense fallback={<Waiting id={id} value={value} label={label} />}>
        <ExpressionEditor
          id={id}
          value={value}
          hint={placeholder}
          long={long}
          change={change}
          known={known}
          label={label}
          sample={sample}
          editable={editable}
          wrongAt={wrong?.column ?? marked?.column ?? null}
          focused={() => touch(true)}
        />
      </Suspense>
      {wrong ? (
        <small className="error-words">
          ✕ {wrong.message}
          {wrong.column ? ` (column ${wrong.column})` : ''}
        </small>
      ) : (
        result && <small className="value">= {result}</small>
      )}
      {tried && !hasSample && (
        <small className="quiet">With a sample context, under Test run, its value stands here.</small>
      )}
    </div>
  );
}

/** Until the editor is there. */
function Waiting({ id, value, label }: { id: string; value: string; label: string | undefined }) {
  return (
    <input id={id} className="input" readOnly value={value} {...(label ? { 'aria-label': label } : {})} />
  );
}

interface Wrong {
  readonly message: string;
  readonly column: number | null;
}

/** What an expression comes to for the sample, as JSON; or what is wrong with it. */
function useEvaluated(text: string, context: JsonObject, tried: boolean): [string | null, Wrong | null] {
  const expression = useDeferredValue(text);
  const { data, error } = useQuery({
    queryKey: ['evaluated', expression, context],
    queryFn: () => got(api.POST('/api/expressions/evaluate', { body: { expression, context } })),
    enabled: tried && expression !== '',
    retry: false,
    placeholderData: (before) => before,
  });
  if (!tried) return [null, null];
  const place = error instanceof Refusal ? error.errors[0] : undefined;
  if (error) return [null, { message: place?.message ?? error.message, column: place?.column ?? null }];
  return [data ? JSON.stringify(data.value) : null, null];
}
