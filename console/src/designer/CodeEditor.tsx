import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { Compartment, EditorState } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'react';
import { nonce } from '../api/settings';

interface Props {
  readonly label: string;
  readonly value: string;
  readonly language: 'json' | 'yaml';
  readonly change: (text: string) => void;
}

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--accent)' },
  { tag: tags.string, color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--wait)' },
  { tag: tags.comment, color: 'var(--quiet)' },
]);

const look = EditorView.theme({
  '&': { height: '100%', fontSize: '12px', backgroundColor: 'var(--panel)', color: 'var(--ink)' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '18px' },
  '.cm-gutters': { backgroundColor: 'var(--panel)', color: 'var(--quiet)', border: 'none' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--accent-soft)' },
});

/** Text with colours. What comes from outside replaces it only if it differs, so that the cursor stays. */
export default function CodeEditor({ label, value, language, change }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const changed = useRef(change);
  changed.current = change;
  const spoken = useRef(new Compartment());
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
          look,
          EditorView.contentAttributes.of({ 'aria-label': label }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed.current(update.state.doc.toString());
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
  useEffect(() => {
    const shown = view.current;
    if (!shown || shown.state.doc.toString() === value) return;
    shown.dispatch({ changes: { from: 0, to: shown.state.doc.length, insert: value } });
  }, [value]);
  return <div className="code-editor" ref={place} />;
}

function languageOf(language: Props['language']) {
  return language === 'json' ? json() : yaml();
}
