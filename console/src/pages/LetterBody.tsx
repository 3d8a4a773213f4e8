import { isObject } from '../graph/flow';
import { JsonTree } from '../ui/JsonTree';
import { brokenAt } from './broken-json';
import type { Letter } from './OneLetter';

/** What a letter is about: of a message its body, read if it can be, else with the place where it breaks. */
export function LetterBody({ letter }: { letter: Letter }) {
  const body = bodyOf(letter);
  if (body === null) return <JsonTree value={letter.value} />;
  const broken = brokenAt(body);
  return (
    <>
      {broken === null ? (
        <JsonTree name="body" value={JSON.parse(body)} />
      ) : (
        <Broken text={body} at={broken} />
      )}
      <JsonTree name="as it came" value={letter.value} open={0} />
      {isObject(letter.headers) && <JsonTree name="headers" value={letter.headers} open={0} />}
    </>
  );
}

function Broken({ text, at }: { text: string; at: number }) {
  return (
    <>
      <p className="error-words">
        It is no JSON from character {at + 1} on{at === text.length && ': it ends too early'}.
      </p>
      <pre className="code">
        {text.slice(0, at)}
        <mark className="broken">{text.slice(at, at + 1) || '␃'}</mark>
        {text.slice(at + 1)}
      </pre>
    </>
  );
}

/** The text that a message had; null: it is no message, or was no text. */
export function bodyOf({ kind, value }: Letter): string | null {
  if (kind === 'execution' || !isObject(value)) return null;
  return typeof value.value === 'string' ? value.value : null;
}

/** The node where an execution failed. */
export function failedAt({ kind, value }: Letter): string | null {
  return kind === 'execution' && isObject(value) && typeof value.nodeId === 'string' ? value.nodeId : null;
}

/** What can be changed before a message is sent again; null: nothing. */
export function fieldsOf(letter: Letter): Record<string, unknown> | null {
  const body = bodyOf(letter);
  if (body === null || brokenAt(body) !== null) return null;
  const value: unknown = JSON.parse(body);
  return isObject(value) ? value : null;
}
