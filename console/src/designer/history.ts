/** What was, is, and was undone. */
import { apply, type Edit } from '../graph/edit';
import type { Flow } from '../graph/flow';

export interface History {
  readonly past: readonly Flow[];
  readonly present: Flow;
  readonly future: readonly Flow[];
}

export type Step =
  | Edit
  | { readonly kind: 'undo' }
  | { readonly kind: 'redo' }
  | { readonly kind: 'load'; readonly flow: Flow };

const DEPTH = 200;

export function stepped(history: History, step: Step): History {
  const { past, present, future } = history;
  if (step.kind === 'load') return { past: [], present: step.flow, future: [] };
  if (step.kind === 'undo') {
    const before = past.at(-1);
    return before ? { past: past.slice(0, -1), present: before, future: [present, ...future] } : history;
  }
  if (step.kind === 'redo') {
    const [after, ...rest] = future;
    return after ? { past: [...past, present], present: after, future: rest } : history;
  }
  const next = apply(present, step);
  return next === present ? history : { past: [...past.slice(-DEPTH), present], present: next, future: [] };
}
