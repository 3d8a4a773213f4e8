/** What was, is, and was undone. */
import { apply, type Edit } from '../graph/edit';
import type { Flow } from '../graph/flow';
import { touched } from '../graph/touched';

export interface History {
  readonly past: readonly Flow[];
  readonly present: Flow;
  readonly future: readonly Flow[];
  /** The one value that is being typed: more of it belongs to the same step. */
  readonly typing?: string | null;
}

export type Step = Edit | { readonly kind: 'undo' } | { readonly kind: 'redo' };

const DEPTH = 200;

export function stepped(history: History, step: Step): History {
  const { past, present, future } = history;
  if (step.kind === 'undo') {
    const before = past.at(-1);
    return before ? { past: past.slice(0, -1), present: before, future: [present, ...future] } : history;
  }
  if (step.kind === 'redo') {
    const [after, ...rest] = future;
    return after ? { past: [...past, present], present: after, future: rest } : history;
  }
  const next = apply(present, step);
  const typing = touched(present, next);
  if (typing === '') return history;
  const goesOn = typing !== null && typing === history.typing;
  return { past: goesOn ? past : [...past.slice(-DEPTH), present], present: next, future: [], typing };
}
