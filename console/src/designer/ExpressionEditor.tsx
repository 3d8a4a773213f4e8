import {
  acceptCompletion,
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  completionKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { syntaxHighlighting } from '@codemirror/language';
import { EditorState, type Extension, StateEffect, StateField } from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView, keymap, placeholder } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { nonce } from '../api/settings';
import type { JsonObject } from '../graph/flow';
import { colours, look, typingOver } from './code-look';
import { expressions } from './expression-language';
import { offers } from './offers';

export interface EditorProps {
  readonly id: string;
  readonly value: string;
  readonly hint: string;
  readonly long: boolean | 'grows';
  readonly change: (text: string) => void;
  readonly known: readonly string[];
  readonly label: string | undefined;
  readonly sample: JsonObject;
  readonly editable: boolean;
  /** Where it is wrong, counted from 1. */
  readonly wrongAt: number | null;
  readonly focused: () => void;
}

/** One field of code: coloured, completed, and marked where it is wrong. */
export default function ExpressionEditor(props: EditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const now = useRef(props);
  now.current = props;
  const { id, value, long, editable, wrongAt } = props;
  const lines = long !== false;
  useEffect(() => {
    if (!place.current) return undefined;
    const made = new EditorView({
      parent: place.current,
      state: EditorState.create({ doc: now.current.value, extensions: extensions(now, id, lines, editable) }),
    });
    view.current = made;
    const label = document.querySelector(`label[for="${CSS.escape(id)}"]`);
    const focus = () => made.focus();
    label?.addEventListener('click', focus);
    return () => {
      label?.removeEventListener('click', focus);
      made.destroy();
    };
  }, [id, lines, editable]);
  useEffect(() => {
    const shown = view.current;
    if (!shown || shown.state.doc.toString() === value) return;
    shown.dispatch({ changes: { from: 0, to: shown.state.doc.length, insert: value } });
  }, [value]);
  useEffect(() => view.current?.dispatch({ effects: marking.of(wrongAt) }), [wrongAt]);
  return <div className={long === true ? 'input code-field long' : 'input code-field'} ref={place} />;
}

function extensions(
  now: { readonly current: EditorProps },
  id: string,
  lines: boolean,
  editable: boolean,
): Extension[] {
  const { label, hint } = now.current;
  return [
    EditorView.cspNonce.of(nonce),
    history(),
    expressions,
    syntaxHighlighting(colours),
    autocompletion({ override: [(context) => completed(context, now.current)], icons: false }),
    keymap.of([
      { key: 'Tab', run: acceptCompletion },
      ...completionKeymap,
      ...(lines ? [] : [{ key: 'Enter', run: entered }]),
      ...defaultKeymap,
      ...historyKeymap,
    ]),
    ...(lines ? [EditorView.lineWrapping] : [onOneLine]),
    marks,
    typingOver,
    look,
    placeholder(hint),
    EditorState.readOnly.of(!editable),
    EditorView.editable.of(editable),
    EditorView.contentAttributes.of({
      id,
      'aria-multiline': String(lines),
      ...(label ? { 'aria-label': label } : { 'aria-labelledby': `${id}-label` }),
      ...(editable ? {} : { 'aria-readonly': 'true', tabindex: '0' }),
    }),
    EditorView.updateListener.of((update) => {
      if (update.focusChanged && update.view.hasFocus) now.current.focused();
      const text = update.state.doc.toString();
      if (update.docChanged && text !== now.current.value) now.current.change(text);
    }),
  ];
}

/** As in any other field of one line: whoever presses Enter sends the form, where there is one. */
function entered(view: EditorView): boolean {
  view.dom.closest('form')?.requestSubmit();
  return true;
}

const onOneLine = EditorState.transactionFilter.of((change) => {
  if (change.newDoc.lines < 2) return change;
  const text = change.newDoc.toString().replace(/\s*\n\s*/g, ' ');
  return { changes: { from: 0, to: change.startState.doc.length, insert: text } };
});

function completed(context: CompletionContext, { sample, known }: EditorProps): CompletionResult | null {
  const text = context.state.doc.toString();
  const found = offers(text, context.pos, sample);
  if (found) return { from: found.from, options: found.names.map((label) => ({ label })), validFor: /^\w*$/ };
  if (!known.length || /[#@$]\{/.test(text)) return null;
  return { from: 0, options: known.map((label) => ({ label })), validFor: /^\S*$/ };
}

const marking = StateEffect.define<number | null>();

const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(before, { effects, newDoc, changes }) {
    const told = effects.find((effect) => effect.is(marking));
    if (!told) return before.map(changes);
    if (told.value === null || newDoc.length === 0) return Decoration.none;
    const from = Math.min(told.value - 1, newDoc.length - 1);
    return Decoration.set([Decoration.mark({ class: 'cm-wrong' }).range(from, from + 1)]);
  },
  provide: (field) => EditorView.decorations.from(field),
});
