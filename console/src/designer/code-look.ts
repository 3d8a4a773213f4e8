/** How text that is code looks, wherever it is typed. */
import { HighlightStyle } from '@codemirror/language';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

export const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.variableName], color: 'var(--accent)' },
  { tag: tags.string, color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: 'var(--wait)' },
  { tag: tags.comment, color: 'var(--quiet)' },
]);

export const look = EditorView.theme({
  '&': { backgroundColor: 'var(--panel)', color: 'var(--ink)' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '18px' },
  '.cm-gutters': { backgroundColor: 'var(--panel)', color: 'var(--quiet)', border: 'none' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-placeholder': { color: 'var(--quiet)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--accent-soft)' },
  '.cm-tooltip': {
    border: '1px solid var(--line)',
    borderRadius: 'var(--radius)',
    backgroundColor: 'var(--panel)',
    boxShadow: 'var(--shadow)',
    color: 'var(--ink)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', fontSize: '12px' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    backgroundColor: 'var(--accent-soft)',
    color: 'var(--ink)',
  },
});

/** What is typed over something is put there by us: a browser would keep its colour, by a style that the page forbids. */
export const typingOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { state } = view;
    const ours = event.inputType === 'insertText' && event.data !== null && !view.composing;
    if (!ours || state.readOnly || state.selection.main.empty) return false;
    event.preventDefault();
    view.dispatch(state.replaceSelection(event.data ?? ''), {
      userEvent: 'input.type',
      scrollIntoView: true,
    });
    return true;
  },
});
