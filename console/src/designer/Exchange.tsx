import { useMutation } from '@tanstack/react-query';
import { stringify } from 'yaml';
import { api } from '../api/client';
import type { Edit } from '../graph/edit';
import type { Flow, JsonObject } from '../graph/flow';
import { writeFlow } from '../graph/write';
import { Dialog } from '../ui/Dialog';
import { Problem } from '../ui/Problem';
import { say } from '../ui/toasts';
import { bodyOf } from './definition-body';
import { understood } from './understood';

interface Props {
  readonly flow: Flow;
  readonly edit: (edit: Edit) => void;
  readonly close: () => void;
}

interface Kind {
  readonly name: string;
  readonly says: string;
  readonly type: string;
  readonly made: (definition: JsonObject) => Promise<string>;
}

const KINDS: readonly Kind[] = [
  {
    name: 'json',
    says: 'The definition, as it is saved.',
    type: 'application/json',
    made: async (definition) => `${JSON.stringify(definition, null, 2)}\n`,
  },
  {
    name: 'yaml',
    says: 'The same, to be read and kept beside your code.',
    type: 'application/yaml',
    made: async (definition) => stringify(definition),
  },
  { name: 'svg', says: 'The diagram, drawn by the server.', type: 'image/svg+xml', made: drawn },
];

async function drawn(definition: JsonObject): Promise<string> {
  const { data } = await api.POST('/api/workflow/visualize', {
    params: { query: { format: 'svg' } },
    body: bodyOf(definition),
    parseAs: 'text',
  });
  return String(data);
}

/** In from a file and out into one: what is on the canvas, saved or not. */
export function Exchange({ flow, edit, close }: Props) {
  const taking = useMutation({
    mutationFn: async (kind: Kind) => {
      const text = await kind.made(writeFlow(flow));
      download(`${fileName(flow)}.${kind.name}`, text, kind.type);
    },
  });
  const opening = useMutation({
    mutationFn: async (file: File) => {
      const read = understood(await file.text());
      if (typeof read === 'string') throw new Error(`${file.name} cannot be read: ${read}`);
      edit({ kind: 'replace', flow: read });
      say(`Opened ${file.name}. Undo brings back what was there.`);
      close();
    },
  });
  const error = taking.error ?? opening.error;
  return (
    <Dialog open close={close} title="Import and export">
      <div className="stack">
        <h3>Take it along as</h3>
        {KINDS.map((kind) => (
          <div key={kind.name} className="inline">
            <button
              type="button"
              className="button kind"
              disabled={!flow.nodes.length || taking.isPending}
              onClick={() => taking.mutate(kind)}
            >
              {kind.name.toUpperCase()}
            </button>
            <span className="quiet">{kind.says}</span>
          </div>
        ))}
        <label className="field">
          <span>Open a file in its place</span>
          <input
            className="input"
            type="file"
            accept=".json,.yaml,.yml,application/json,application/yaml"
            onChange={(event) => {
              const file = event.target.files?.[0];
              if (file) opening.mutate(file);
            }}
          />
          <small>JSON or YAML, in any of the shapes. Nothing is saved by that.</small>
        </label>
        {error && <Problem error={error} />}
      </div>
    </Dialog>
  );
}

export function fileName(flow: Flow): string {
  const name = String(flow.head.key ?? flow.head.name ?? '').toLowerCase();
  return name.replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '') || 'workflow';
}

function download(name: string, text: string, type: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  // Once the browser has taken it.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
