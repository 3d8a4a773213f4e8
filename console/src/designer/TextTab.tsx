import { lazy, Suspense, useContext, useMemo } from 'react';
import { parseDocument, stringify } from 'yaml';
import type { Edit } from '../graph/edit';
import type { Flow } from '../graph/flow';
import { writeFlow } from '../graph/write';
import { Editing } from './fields';
import { understood } from './understood';

const CodeEditor = lazy(() => import('./CodeEditor'));

type Language = 'json' | 'yaml';

/** What was typed last, and what came of it: a flow, or why it cannot be read. */
export interface Typed {
  readonly text: string;
  readonly flow: Flow | null;
  readonly wrong: string | null;
}

interface Props {
  readonly flow: Flow;
  readonly edit: (edit: Edit) => void;
  readonly language: Language;
  readonly speak: (language: Language) => void;
  readonly typed: Typed | null;
  readonly type: (typed: Typed | null) => void;
  /** What to look at, by its pointer. */
  readonly pointer: { readonly to: string } | null;
}

/** The same definition as text: what is typed is drawn at once, and what is drawn is written here. What cannot be
 * read stays as it was typed, until it can, or is thrown away. */
export function TextTab({ flow, edit, language, speak, typed, type, pointer }: Props) {
  const editable = useContext(Editing);
  const written = useMemo(() => textOf(flow, language), [flow, language]);
  const text = typed && (typed.wrong !== null || typed.flow === flow) ? typed.text : written;
  const wrong = typed?.wrong ?? null;
  // Found once, in the text of that moment: later edits move nobody's cursor.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  const spot = useMemo(() => pointer && { offset: offsetOf(text, pointer.to) }, [pointer]);
  const change = (now: string) => {
    const read = understood(now);
    if (typeof read === 'string') {
      type({ text: now, flow: null, wrong: read });
      return;
    }
    type({ text: now, flow: read, wrong: null });
    edit({ kind: 'replace', flow: read });
  };
  return (
    <div className="text-tab">
      <div className="inline text-tools">
        {(['json', 'yaml'] as const).map((each) => (
          <label key={each} className="inline">
            <input
              type="radio"
              name="language"
              checked={language === each}
              onChange={() => {
                speak(each);
                if (wrong === null) type(null);
              }}
            />
            {each.toUpperCase()}
          </label>
        ))}
        {wrong === null ? (
          <span className="quiet">
            {editable
              ? 'Any shape can be pasted; it is drawn as you type.'
              : 'The definition, as it is saved.'}
          </span>
        ) : (
          <>
            <span className="error-words" role="status">
              ✕ {wrong}
            </span>
            <button type="button" className="link" onClick={() => type(null)}>
              Write what is drawn
            </button>
          </>
        )}
      </div>
      <Suspense fallback={null}>
        <CodeEditor
          label="Definition"
          value={text}
          language={language}
          change={change}
          editable={editable}
          spot={spot}
        />
      </Suspense>
    </div>
  );
}

function textOf(flow: Flow, language: Language): string {
  const document = writeFlow(flow);
  return language === 'json' ? JSON.stringify(document, null, 2) : stringify(document);
}

/** Where in a text stands what a pointer leads to, or the nearest that is around it. */
function offsetOf(text: string, pointer: string): number {
  const document = parseDocument(text);
  const path = pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
  for (let length = path.length; length > 0; length -= 1) {
    const found = document.getIn(path.slice(0, length), true) as { range?: readonly number[] } | undefined;
    if (found?.range) return found.range[0] ?? 0;
  }
  return 0;
}
