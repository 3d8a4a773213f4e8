import type { JsonObject } from '../graph/flow';

/** A definition as the body of a request. What it may be is checked by the server, and has no type in its document. */
export function bodyOf(definition: JsonObject): never {
  return definition as never;
}
