/** Text that may hold `#{…}`: what is in it is coloured, the text around it is not. */
import { StreamLanguage, type StringStream } from '@codemirror/language';

interface Place {
  /** How many braces are open; 0: this is text. */
  readonly depth: { now: number };
}

const WORDS = /^(true|false|null|and|or|not|eq|ne|lt|le|gt|ge|matches|new|T)\b/;

export const expressions = StreamLanguage.define<Place>({
  name: 'expression',
  startState: () => ({ depth: { now: 0 } }),
  copyState: ({ depth }) => ({ depth: { ...depth } }),
  token(stream, { depth }) {
    if (depth.now === 0) return text(stream, depth);
    if (stream.eatSpace()) return null;
    if (stream.match(/^'(?:[^']|'')*'?/) || stream.match(/^"[^"]*"?/)) return 'string';
    if (stream.match(/^\d+(\.\d+)?/)) return 'number';
    if (stream.match(WORDS)) return 'keyword';
    if (stream.match(/^[A-Za-z_]\w*/)) return 'variableName';
    const next = stream.next();
    if (next === '{') depth.now += 1;
    if (next === '}') depth.now -= 1;
    return null;
  },
});

function text(stream: StringStream, depth: Place['depth']): null {
  if (stream.match(/^[#@$]\{/)) depth.now = 1;
  else {
    stream.next();
    stream.eatWhile(/[^#@$]/);
  }
  return null;
}
