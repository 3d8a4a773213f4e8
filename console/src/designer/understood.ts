import { parse } from 'yaml';
import type { Flow } from '../graph/flow';
import { readFlow } from '../graph/read';

/** A flow; or what is wrong with the text. */
export function understood(text: string): Flow | string {
  let document: unknown;
  try {
    document = text.trimStart().startsWith('{') ? JSON.parse(text) : parse(text, { maxAliasCount: 0 });
  } catch (error) {
    return (error as Error).message.split('\n')[0] ?? 'This cannot be read.';
  }
  return readFlow(document)?.flow ?? 'A definition is an object.';
}
