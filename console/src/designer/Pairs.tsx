import { useContext, useId, useState } from 'react';
import { isObject, type JsonObject } from '../graph/flow';
import { ExpressionInput } from './ExpressionInput';
import { At } from './fields';
import type { Schema } from './schema';
import { anything, BROKEN, isExpression, shown, useTyped } from './typed';

interface Props {
  readonly title: string;
  readonly schema: Schema;
  readonly needed: boolean;
  readonly value: unknown;
  readonly change: (value: unknown) => void;
}

/** What a value means is kept with its text: a text "1" stays one until somebody types there. */
type Row = readonly [name: string, text: string, means: unknown];

/** An object whose names the author chooses: a row for each, or JSON where that would not do. */
export function Pairs({ title, schema, needed, value, change }: Props) {
  const id = useId();
  const [asText, setAsText] = useState(() => !fitsRows(value));
  return (
    <div className="field pairs" role="group" aria-labelledby={id}>
      <span className="pairs-head">
        <span id={id} className="label">
          {title}
          {needed && <span className="needed">needed</span>}
        </span>
        <button
          type="button"
          className="link"
          disabled={asText && !fitsRows(value)}
          onClick={() => setAsText(!asText)}
        >
          {asText ? 'as rows' : 'as JSON'}
        </button>
      </span>
      {asText ? (
        <ObjectText label={title} value={value} change={change} hint={hintOf(schema)} />
      ) : (
        <Rows title={title} schema={schema} value={value} change={change} />
      )}
      {schema.description && <small>{schema.description.replaceAll('`', '')}</small>}
    </div>
  );
}

function Rows({ title, schema, value, change }: Omit<Props, 'needed'>) {
  const [rows, type] = useTyped<readonly Row[]>(value, rowsOf);
  const path = useContext(At);
  const onlyText = isObject(schema.additionalProperties) && schema.additionalProperties.type === 'string';
  const tell = (now: readonly Row[]) => {
    const means = objectOf(now);
    type(now, means);
    change(means);
  };
  const replace = (at: number, row: Row) => tell(rows.map((each, index) => (index === at ? row : each)));
  const example = isObject(schema.examples?.[0]) ? Object.entries(schema.examples[0])[0] : undefined;
  return (
    <>
      {rows.map(([name, text, means], at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: while it is typed a row has no name but its place
        <div key={at} className="pair">
          <input
            className="input mono"
            aria-label={`${title}: name ${at + 1}`}
            placeholder={example?.[0] ?? 'name'}
            aria-invalid={rows.some(([other], index) => index !== at && other !== '' && other === name)}
            value={name}
            onChange={(event) => replace(at, [event.target.value, text, means])}
          />
          <At value={`${path}/${name}`}>
            <ExpressionInput
              id={`${title} ${at}`}
              label={`${title}: value ${at + 1}`}
              value={text}
              placeholder={example ? shown(example[1]) : 'value'}
              long="grows"
              change={(now) => replace(at, [name, now, meaning(now, onlyText)])}
            />
          </At>
          <button
            type="button"
            className="icon-button"
            aria-label={`Remove ${name || 'this row'}`}
            onClick={() => tell(rows.filter((_, index) => index !== at))}
          >
            <span aria-hidden="true">✕</span>
          </button>
        </div>
      ))}
      <button type="button" className="button small" onClick={() => tell([...rows, ['', '', '']])}>
        Add to {title.toLowerCase()}
      </button>
    </>
  );
}

/** An object as JSON, or an expression that gives one. */
function ObjectText({
  label,
  hint,
  value,
  change,
}: { label: string; hint: string } & Pick<Props, 'value' | 'change'>) {
  const [text, type] = useTyped(value, (given) => (given === undefined ? '' : shown(given)));
  const read = anything(text);
  const wrong = read === BROKEN || (read !== undefined && !isObject(read) && !isExpression(read));
  return (
    <>
      <ExpressionInput
        id={`${label} as text`}
        label={label}
        value={text}
        placeholder={hint}
        long
        change={(now) => {
          const means = anything(now);
          type(now, means === BROKEN ? value : means);
          if (means !== BROKEN) change(means);
        }}
      />
      {wrong && <small className="error-words">An object is expected: {'{ … }'}</small>}
    </>
  );
}

function hintOf(schema: Schema): string {
  return schema.examples?.length ? shown(schema.examples[0]) : '{ … }';
}

function fitsRows(value: unknown): boolean {
  if (value === undefined) return true;
  return isObject(value) && Object.values(value).every((each) => typeof each !== 'object' || each === null);
}

function rowsOf(value: unknown): readonly Row[] {
  return isObject(value) ? Object.entries(value).map(([name, each]) => [name, shown(each), each]) : [];
}

/** What the rows say; those without a name say nothing yet. */
function objectOf(rows: readonly Row[]): JsonObject | undefined {
  const named = rows.filter(([name]) => name !== '');
  return named.length ? Object.fromEntries(named.map(([name, , means]) => [name, means])) : undefined;
}

function meaning(text: string, onlyText: boolean): unknown {
  if (onlyText || text === '') return text;
  if (text === 'true' || text === 'false') return text === 'true';
  const read = anything(text);
  return read === BROKEN ? text : read;
}
