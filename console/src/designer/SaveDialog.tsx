import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, got, Refusal, type Schemas } from '../api/client';
import type { Flow, JsonObject } from '../graph/flow';
import { writeFlow } from '../graph/write';
import { Dialog } from '../ui/Dialog';
import { Problem } from '../ui/Problem';
import { say } from '../ui/toasts';
import { comparable } from './comparable';
import { Diff } from './Diff';
import { bodyOf } from './definition-body';

type Whole = Schemas['WorkflowWhole'];

interface Props {
  readonly flow: Flow;
  readonly workflow: Whole | null;
  /** The version that was loaded here: if it is not the latest any more, somebody else has saved. */
  readonly seen: number;
  /** The text is another, and cannot be read. */
  readonly apart: boolean;
  readonly close: () => void;
  readonly saved: (key: string, version: number) => void;
}

/** Save as a further version, after a look at what it changes. Activating it is another press. */
export function SaveDialog({ flow, workflow, seen, apart, close, saved }: Props) {
  const queries = useQueryClient();
  const [over, setOver] = useState<number | null>(null);
  const definition = definitionOf(flow, workflow === null);
  const saving = useMutation({
    mutationFn: () => (workflow ? further(workflow.id, definition, over ?? seen) : first(definition)),
    onSuccess: async (made) => {
      say(`Saved version ${made.version}`);
      saved(made.key, made.version);
      close();
      await queries.invalidateQueries({ queryKey: ['workflows'] });
    },
  });
  const stale = saving.error instanceof Refusal && saving.error.code === 'STALE_VERSION';
  return (
    <Dialog
      open
      close={close}
      title={workflow ? `Save version ${(over ?? seen) + 1}` : 'Save as a new workflow'}
      wide
    >
      {apart && (
        <p className="warn-words">▲ The text cannot be read as it stands: what is saved is what is drawn.</p>
      )}
      {workflow ? (
        <Changes workflow={workflow} definition={definition} />
      ) : (
        <p className="quiet">It is saved as a draft. Nothing runs until you activate it.</p>
      )}
      {stale ? (
        <Overtaken
          workflow={workflow}
          seen={seen}
          definition={definition}
          take={setOver}
          again={() => saving.reset()}
        />
      ) : (
        saving.error && <Problem error={saving.error} />
      )}
      <footer>
        <button type="button" className="button" onClick={close}>
          Go on editing
        </button>
        <button
          type="button"
          className="button primary"
          disabled={saving.isPending || stale}
          onClick={() => saving.mutate()}
        >
          {workflow ? 'Save as a version' : 'Save'}
        </button>
      </footer>
    </Dialog>
  );
}

/** What is saved: a new one begins as a draft; a further version has no status of its own. */
function definitionOf(flow: Flow, isNew: boolean): JsonObject {
  const { status: _, ...head } = flow.head;
  return writeFlow({ ...flow, head: isNew ? { ...head, status: 'DRAFT' } : head });
}

function first(definition: JsonObject) {
  return got(api.POST('/api/workflow', { body: bodyOf(definition) }));
}

function further(id: string, definition: JsonObject, expected: number) {
  return got(
    api.PUT('/api/workflow/{id}', {
      params: { path: { id }, query: {} },
      headers: { 'If-Match': `"${expected}"` },
      body: bodyOf(definition),
    }),
  );
}

function Changes({ workflow, definition }: { workflow: Whole; definition: JsonObject }) {
  const number = workflow.activeVersion ?? workflow.latestVersion;
  const { data } = useVersion(workflow.id, number);
  if (!data) return null;
  return (
    <section className="stack">
      <h3>
        What it changes in version {number}, {workflow.activeVersion ? 'the active one' : 'the latest'}
      </h3>
      <Diff of={comparable(data.definition, definition)} />
    </section>
  );
}

export function useVersion(id: string, number: number) {
  return useQuery({
    queryKey: ['version', id, number],
    queryFn: () => got(api.GET('/api/workflow/{id}/versions/{number}', { params: { path: { id, number } } })),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

interface OvertakenProps {
  readonly workflow: Whole | null;
  readonly seen: number;
  readonly definition: JsonObject;
  readonly take: (version: number) => void;
  readonly again: () => void;
}

/** Somebody else has saved meanwhile: nothing is lost, and nobody is overwritten unawares. */
function Overtaken({ workflow, seen, definition, take, again }: OvertakenProps) {
  const id = workflow?.id ?? '';
  const { data } = useQuery({
    queryKey: ['workflow', id, 'latest', seen],
    queryFn: () => got(api.GET('/api/workflow/{id}', { params: { path: { id } } })),
  });
  if (!data) return null;
  return (
    <section className="problem" role="alert">
      <p>
        ▲ Somebody has saved version {data.latestVersion} since you opened version {seen}. Nothing of yours is
        lost.
      </p>
      <p>This is what differs between theirs and yours:</p>
      <Diff of={comparable(data.definition, definition)} />
      <button
        type="button"
        className="button"
        onClick={() => {
          take(data.latestVersion);
          again();
        }}
      >
        Put mine on top, as version {data.latestVersion + 1}
      </button>
    </section>
  );
}
