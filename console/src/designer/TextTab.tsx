import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { stringify } from 'yaml';
import type { Edit } from '../graph/edit';
import type { Flow } from '../graph/flow';
import { writeFlow } from '../graph/write';
import { understood } from './understood';

const CodeEditor = lazy(() => import('./CodeEditor'));

type Language = 'json' | 'yaml';

/** The same definition as text: what is typed is drawn at once, and what is drawn is written here. */
export function TextTab({ flow, edit }: { flow: Flow; edit: (edit: Edit) => void }) {
  const [language, speak] = useState<Language>('json');
  const [text, setText] = useState(() => written(flow, 'json'));
  const [wrong, setWrong] = useState<string | null>(null);
  const known = useRef(flow);
  useEffect(() => {
    if (flow === known.current) return;
    known.current = flow;
    setText(written(flow, language));
    setWrong(null);
  }, [flow, language]);
  const typed = (now: string) => {
    if (now === text) return;
    setText(now);
    const read = understood(now);
    setWrong(typeof read === 'string' ? read : null);
    if (typeof read === 'string') return;
    known.current = read;
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
                setText(written(flow, each));
              }}
            />
            {each.toUpperCase()}
          </label>
        ))}
        {wrong ? (
          <span className="error-words" role="status">
            ✕ {wrong}
          </span>
        ) : (
          <span className="quiet">Any shape can be pasted; it is drawn as you type.</span>
        )}
      </div>
      <Suspense fallback={null}>
        <CodeEditor label="Definition" value={text} language={language} change={typed} />
      </Suspense>
    </div>
  );
}

function written(flow: Flow, language: Language): string {
  const document = writeFlow(flow);
  return language === 'json' ? JSON.stringify(document, null, 2) : stringify(document);
}
