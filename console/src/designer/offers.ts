/** Names that fit where somebody is typing: those of the sample, or of what the path before leads to. */
import { isObject, type JsonObject } from '../graph/flow';

export interface Offered {
  /** Where the name begins that is being typed. */
  readonly from: number;
  readonly names: readonly string[];
}

export function offers(text: string, caret: number, sample: JsonObject): Offered | null {
  const before = text.slice(0, caret);
  const open = Math.max(before.lastIndexOf('#{'), before.lastIndexOf('@{'), before.lastIndexOf('${'));
  if (open < 0 || before.indexOf('}', open) >= 0) return null;
  const path = /((?:[A-Za-z_]\w*\.)*)([A-Za-z_]\w*)?$/.exec(before.slice(open + 2));
  const steps = (path?.[1] ?? '').split('.').filter(Boolean);
  const begun = path?.[2] ?? '';
  const here = steps.reduce<unknown>((value, step) => (isObject(value) ? value[step] : undefined), sample);
  const names = isObject(here) ? Object.keys(here) : [];
  return { from: caret - begun.length, names: names.filter((name) => name.startsWith(begun)) };
}

/** It has an expression, and each that was begun is ended. */
export function isWhole(text: string): boolean {
  return /[#@$]\{/.test(text) && text.split('{').length === text.split('}').length;
}
