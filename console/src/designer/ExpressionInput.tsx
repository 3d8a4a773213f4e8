import { useQuery } from '@tanstack/react-query';
import { createContext, useContext, useDeferredValue, useRef, useState } from 'react';
import { api, got, Refusal } from '../api/client';
import { isObject, type JsonObject } from '../graph/flow';

/** What expressions are tried on while they are typed; where there is nothing, they are not. */
export const Sample = createContext<JsonObject | null>(null);

interface Props {
  readonly id: string;
  readonly value: string;
  readonly placeholder: string;
  readonly long: boolean;
  readonly change: (text: string) => void;
  /** What may stand there, to choose from. */
  readonly known?: readonly string[];
  /** Its name, where no label says it. */
  readonly label?: string;
}

/** Text that may hold `#{…}`: completed from the sample, its value below while it is typed. */
export function ExpressionInput({ id, value, placeholder, long, change, known = [], label }: Props) {
  const field = useRef<HTMLTextAreaElement & HTMLInputElement>(null);
  const [focused, setFocused] = useState(false);
  const [caret, setCaret] = useState(0);
  const [at, move] = useState(0);
  const sample = useContext(Sample);
  // Once shown, the value stays: what is below must not move away from under a click that ends the typing.
  const [touched, touch] = useState(false);
  const offered = focused ? offers(value, caret, sample ?? {}) : [];
  const take = (name: string) => {
    const begun = wordBefore(value, caret);
    const now = value.slice(0, caret - begun.length) + name + value.slice(caret);
    change(now);
    const place = caret - begun.length + name.length;
    requestAnimationFrame(() => field.current?.setSelectionRange(place, place));
    setCaret(place);
  };
  const pressed = (event: React.KeyboardEvent) => {
    if (!offered.length) return;
    if (event.key === 'ArrowDown') move((at + 1) % offered.length);
    else if (event.key === 'ArrowUp') move((at + offered.length - 1) % offered.length);
    else if (event.key === 'Tab' || event.key === 'Enter') take(offered[at] ?? offered[0] ?? '');
    else return;
    event.preventDefault();
  };
  const Tag = long ? 'textarea' : 'input';
  return (
    <div className="expression">
      <Tag
        ref={field}
        id={id}
        {...(label ? { 'aria-label': label } : {})}
        className="input"
        spellCheck={false}
        autoComplete="off"
        rows={long ? 4 : undefined}
        value={value}
        placeholder={placeholder}
        aria-autocomplete="list"
        list={known.length && !long ? `${id}-known` : undefined}
        onFocus={() => {
          setFocused(true);
          touch(true);
        }}
        onBlur={() => setFocused(false)}
        onSelect={(event: React.SyntheticEvent<HTMLInputElement | HTMLTextAreaElement>) =>
          setCaret(event.currentTarget.selectionStart ?? 0)
        }
        onKeyDown={pressed}
        onChange={(event: React.ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => {
          move(0);
          setCaret(event.target.selectionStart ?? 0);
          change(event.target.value);
        }}
      />
      {known.length > 0 && (
        <datalist id={`${id}-known`}>
          {known.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
      {offered.length > 0 && (
        <ul className="offers" aria-label="Names in the sample">
          {offered.map((name, index) => (
            <li key={name}>
              <button
                type="button"
                tabIndex={-1}
                className={index === at ? 'chosen' : ''}
                onMouseDown={(event) => {
                  event.preventDefault();
                  take(name);
                }}
              >
                {name}
              </button>
            </li>
          ))}
        </ul>
      )}
      {touched && isWhole(value) && sample && Object.keys(sample).length > 0 && (
        <Evaluated expression={value} sample={sample} />
      )}
      {touched && isWhole(value) && sample && Object.keys(sample).length === 0 && (
        <small className="quiet">With a sample context, under Test run, its value stands here.</small>
      )}
    </div>
  );
}

function Evaluated({ expression, sample }: { expression: string; sample: JsonObject }) {
  const settled = useDeferredValue(expression);
  const { data, error } = useQuery({
    queryKey: ['evaluated', settled, sample],
    queryFn: () =>
      got(api.POST('/api/expressions/evaluate', { body: { expression: settled, context: sample as never } })),
    retry: false,
    placeholderData: (before) => before,
  });
  if (error) {
    const place = error instanceof Refusal ? error.errors[0] : undefined;
    return (
      <small className="error-words">
        ✕ {place?.message ?? error.message}
        {place?.column ? ` (column ${place.column})` : ''}
      </small>
    );
  }
  return data ? <small className="value">= {JSON.stringify(data.value)}</small> : null;
}

/** It has an expression, and each that was begun is ended. */
function isWhole(text: string): boolean {
  return /[#@$]\{/.test(text) && text.split('{').length === text.split('}').length;
}

function wordBefore(text: string, caret: number): string {
  return /[A-Za-z_][\w]*$/.exec(text.slice(0, caret))?.[0] ?? '';
}

/** Names that fit where the caret is: those of the sample, or of what the path before it leads to. */
function offers(text: string, caret: number, sample: JsonObject): string[] {
  const before = text.slice(0, caret);
  const open = Math.max(before.lastIndexOf('#{'), before.lastIndexOf('@{'), before.lastIndexOf('${'));
  if (open < 0 || before.indexOf('}', open) >= 0) return [];
  const path = /((?:[A-Za-z_]\w*\.)*)([A-Za-z_]\w*)?$/.exec(before.slice(open + 2));
  const steps = (path?.[1] ?? '').split('.').filter(Boolean);
  const begun = path?.[2] ?? '';
  const here = steps.reduce<unknown>((value, step) => (isObject(value) ? value[step] : undefined), sample);
  const names = isObject(here) ? Object.keys(here) : [];
  return names.filter((name) => name.startsWith(begun) && name !== begun).slice(0, 8);
}
