/** Where a text ceases to be JSON. */

const SPACE = /[ \t\r\n]*/y;
const STRING = /"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy;
const ATOM = /true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

/** The place of the first character that no JSON has there; null: it is JSON. */
export function brokenAt(text: string): number | null {
  try {
    JSON.parse(text);
    return null;
  } catch {
    const end = space(text, value(text, space(text, 0)));
    return Math.min(end < 0 ? -end - 1 : end, text.length);
  }
}

/** Where a value ends that begins here. Less than nothing: it is none, and minus one less is where it goes wrong. */
function value(text: string, at: number): number {
  const opens = text[at];
  if (opens === '{') return several(text, at + 1, '}', member);
  if (opens === '[') return several(text, at + 1, ']', value);
  return one(text, at, opens === '"' ? STRING : ATOM);
}

function member(text: string, at: number): number {
  const named = space(text, one(text, at, STRING));
  if (named < 0) return named;
  return text[named] === ':' ? value(text, space(text, named + 1)) : -named - 1;
}

function several(text: string, begin: number, closing: string, part: typeof value): number {
  let at = space(text, begin);
  if (text[at] === closing) return at + 1;
  for (;;) {
    at = space(text, part(text, at));
    if (at < 0) return at;
    if (text[at] === closing) return at + 1;
    if (text[at] !== ',') return -at - 1;
    at = space(text, at + 1);
  }
}

function one(text: string, at: number, kind: RegExp): number {
  kind.lastIndex = at;
  return kind.test(text) ? kind.lastIndex : -at - 1;
}

function space(text: string, at: number): number {
  if (at < 0) return at;
  SPACE.lastIndex = at;
  SPACE.test(text);
  return SPACE.lastIndex;
}
