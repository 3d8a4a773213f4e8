import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, syntaxHighlighting } from '@codemirror/language';
import { Compartment, EditorState } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { nonce } from '../api/settings';
import { colours, look, typingOver } from './code-look';

interface Props {
  readonly label: string;
  readonly value: string;
  readonly language: 'json' | 'yaml';
  readonly change: (text: string) => void;
  readonly editable: boolean;
  /** Where to look, each time that it is another object. */
  readonly spot?: { readonly offset: number } | null;
}

const whole = EditorView.theme({
  '&': { height: '100%', fontSize: '12px' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
});

/** Text with colours. What comes from outside replaces it only if it differs, so that the cursor stays. */
export default function CodeEditor({ label, value, language, change, editable, spot }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const now = useRef({ value, change });
  now.current = { value, change };
  const spoken = useRef(new Compartment());
  const rights = useRef(new Compartment());
  // biome-ignore lint/correctness/useExhaustiveDependencies: made once; the effects below bring what changes
  useEffect(() => {
    if (!place.current) return undefined;
    const made = new EditorView({
      parent: place.current,
      state: EditorState.create({
        doc: value,
        extensions: [
          EditorView.cspNonce.of(nonce),
          lineNumbers(),
          history(),
          bracketMatching(),
          syntaxHighlighting(colours),
          keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
          spoken.current.of(languageOf(language)),
          typingOver,
          look,
          whole,
          rights.current.of(rightsOf(editable)),
          // What scrolls is reached by keyboard, also where a tool asks for that by the letter.
          EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
          EditorView.updateListener.of((update) => {
            const text = update.state.doc.toString();
            if (update.docChanged && text !== now.current.value) now.current.change(text);
          }),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, []);
  useEffect(
    () => view.current?.dispatch({ effects: spoken.current.reconfigure(languageOf(language)) }),
    [language],
  );
  useEffect(
    () => view.current?.dispatch({ effects: rights.current.reconfigure(rightsOf(editable)) }),
    [editable],
  );
  useEffect(() => {
    const shown = view.current;
    if (!shown || shown.state.doc.toString() === value) return;
    shown.dispatch({ changes: { from: 0, to: shown.state.doc.length, insert: value } });
  }, [value]);
  useEffect(() => {
    const shown = view.current;
    if (!shown || !spot) return;
    const anchor = Math.min(spot.offset, shown.state.doc.length);
    shown.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: 'center' }) });
    shown.focus();
  }, [spot]);
  return <div className="code-editor" ref={place} />;
}

function languageOf(language: Props['language']) {
  return language === 'json' ? json() : yaml();
}

/** Whoever may not change it may still go through it, and copy. */
function rightsOf(editable: boolean) {
  return [
    EditorState.readOnly.of(!editable),
    EditorView.contentAttributes.of({ 'aria-readonly': String(!editable) }),
  ];
}
