import { useContext } from 'react';
import { isObject } from '../graph/flow';
import { At } from './fields';
import { SchemaForm } from './SchemaForm';
import type { Schema } from './schema';
import { useTyped } from './typed';

interface Props {
  /** What a case may say. */
  readonly schema: Schema;
  readonly root: Schema;
  readonly value: unknown;
  readonly change: (value: unknown) => void;
}

type Case = readonly [value: string, body: unknown];

/** What is done for which value: a form for each. */
export function Cases({ schema, root, value, change }: Props) {
  const [cases, type] = useTyped<readonly Case[]>(value, (given) =>
    isObject(given) ? Object.entries(given) : [],
  );
  const at = useContext(At);
  const tell = (now: readonly Case[]) => {
    const means = now.length ? Object.fromEntries(now) : undefined;
    // Of two that are called the same one would be lost: it is not told until they differ.
    const clash = new Set(now.map(([name]) => name)).size < now.length;
    type(now, clash ? value : means);
    if (!clash) change(means);
  };
  const replace = (place: number, each: Case) =>
    tell(cases.map((one, index) => (index === place ? each : one)));
  return (
    <div className="cases">
      {cases.map(([name, body], place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: while it is typed a case has no name but its place
        <fieldset key={place} className="case">
          <legend className="inline">
            <label className="inline">
              When it is
              <input
                className="input mono"
                value={name}
                aria-invalid={cases.some(([other], index) => index !== place && other === name)}
                onChange={(event) => replace(place, [event.target.value, body])}
              />
            </label>
            <button
              type="button"
              className="icon-button"
              aria-label={`Remove the case ${name}`}
              onClick={() => tell(cases.filter((_, index) => index !== place))}
            >
              <span aria-hidden="true">✕</span>
            </button>
          </legend>
          <At value={`${at}/${name}`}>
            <SchemaForm
              schema={schema}
              root={root}
              value={isObject(body) ? body : {}}
              change={(now) => replace(place, [name, now])}
            />
          </At>
        </fieldset>
      ))}
      <button type="button" className="button small" onClick={() => tell([...cases, [fresh(cases), {}]])}>
        Add a case
      </button>
    </div>
  );
}

function fresh(cases: readonly Case[]): string {
  const taken = new Set(cases.map(([name]) => name));
  let number = cases.length + 1;
  while (taken.has(String(number))) number += 1;
  return String(number);
}
