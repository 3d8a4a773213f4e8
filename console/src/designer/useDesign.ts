import { useCallback, useEffect, useReducer, useRef, useState } from 'react';
import type { Schemas } from '../api/client';
import { unsaved } from '../app/leaving';
import type { Edit } from '../graph/edit';
import { EMPTY, type Flow } from '../graph/flow';
import { readFlow } from '../graph/read';
import { say } from '../ui/toasts';
import { type Draft, draftOf, dropDraft, keepDraft } from './drafts';
import { EXAMPLE } from './examples';
import { type History, type Step, stepped } from './history';
import { keepPlaces, type Places, usePlaces } from './usePlaces';

export type Whole = Schemas['WorkflowWhole'];

export interface Design {
  readonly flow: Flow;
  readonly history: History;
  readonly edit: (edit: Edit) => void;
  readonly step: (step: Step) => void;
  /** The version that it was made of; 0: none. */
  readonly seen: number;
  readonly dirty: boolean;
  readonly places: Places;
  readonly move: (places: Places) => void;
  readonly saved: (key: string, version: number) => void;
}

function begun(workflow: Whole | null): Flow {
  if (workflow) return readFlow(workflow.definition)?.flow ?? EMPTY;
  return isExample() ? EXAMPLE : EMPTY;
}

function isExample(): boolean {
  return new URLSearchParams(location.search).has('example');
}

/** What is being designed, from what is saved, or from where it was left off. */
export function useDesign(workflow: Whole | null, mayEdit: boolean): Design {
  const key = workflow?.key ?? null;
  const [draft] = useState(() => (key === null && isExample() ? null : draftOf(key)));
  const [kept, keep] = useState(() => begun(workflow));
  const [history, step] = useReducer(stepped, null, () =>
    draft ? { past: [kept], present: draft.flow, future: [] } : { past: [], present: kept, future: [] },
  );
  const [seen, setSeen] = useState(draft?.seen ?? workflow?.version ?? 0);
  const [places, move] = usePlaces(key, draft?.places ?? null);
  const flow = history.present;
  const dirty = flow !== kept;
  const edit = useCallback((each: Edit) => mayEdit && step(each), [mayEdit]);
  useEffect(() => {
    if (!draft) return;
    dropDraft(key);
    say('What you had not saved is here again. Undo brings back what is saved.');
  }, [draft, key]);
  useUnsaved(key, dirty, { flow, places, seen });
  const saved = (under: string, version: number) => {
    keep(flow);
    setSeen(version);
    unsaved.set(null);
    if (key === null) keepPlaces(under, places);
  };
  return { flow, history, edit, step, seen, dirty, places, move, saved };
}

/** Whoever leaves a page with changes in it is asked; where nobody can be, they are kept. */
function useUnsaved(key: string | null, dirty: boolean, draft: Draft): void {
  const now = useRef(draft);
  now.current = draft;
  useEffect(() => {
    if (!dirty) return undefined;
    unsaved.set(`Changes to ${String(now.current.flow.head.name ?? 'this workflow')} have not been saved.`);
    const asking = (event: BeforeUnloadEvent) => event.preventDefault();
    const keeping = () => unsaved.get() !== null && keepDraft(key, now.current);
    addEventListener('beforeunload', asking);
    addEventListener('pagehide', keeping);
    return () => {
      removeEventListener('beforeunload', asking);
      removeEventListener('pagehide', keeping);
    };
  }, [key, dirty]);
  useEffect(() => {
    if (!dirty) unsaved.set(null);
  }, [dirty]);
  useEffect(
    () => () => {
      if (unsaved.get() !== null) keepDraft(key, now.current);
      unsaved.set(null);
    },
    [key],
  );
}
