/** Which values an edit has changed: typing on in a field is one step, not one for each key. */
import type { Json } from './flow';

/** The paths of texts and numbers that are new; null: something came, went, or is of another kind. */
export function touched(before: Json, after: Json): string | null {
  const found = differences(before, after, '');
  return found.includes(null) ? null : found.join(' ');
}

function differences(before: Json, after: Json, path: string): (string | null)[] {
  if (Object.is(before, after)) return [];
  if (isValue(after) && (before === undefined || isValue(before))) return [path];
  if (!isBranch(before ?? {}) || !isBranch(after)) return [null];
  const [one, other] = [entriesOf(before), entriesOf(after)];
  if (Array.isArray(before) && Array.isArray(after) && before.length !== after.length) return [null];
  const within = [...new Set([...one.keys(), ...other.keys()])].flatMap((name) =>
    differences(one.get(name), other.get(name), `${path}/${name}`),
  );
  // What is empty has come all the same.
  return before === undefined && within.length === 0 ? [null] : within;
}

function isValue(value: Json): boolean {
  return typeof value === 'string' || typeof value === 'number';
}

function isBranch(value: Json): boolean {
  return typeof value === 'object' && value !== null;
}

function entriesOf(value: Json): ReadonlyMap<string, Json> {
  return new Map(Object.entries((value ?? {}) as object));
}
