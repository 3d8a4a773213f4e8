import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, got, type Schemas } from '../api/client';
import { useMay } from '../api/me';
import { useNodeTypes } from '../canvas/useNodeTypes';
import '../designer/designer.css';
import { SchemaForm } from '../designer/SchemaForm';
import type { Schema } from '../designer/schema';
import type { JsonObject } from '../graph/flow';
import { CopyId } from '../ui/CopyId';
import { Empty } from '../ui/Empty';
import { FormDialog } from '../ui/FormDialog';
import type { Column } from '../ui/List';
import { Listed } from '../ui/Listed';
import { Page } from '../ui/Page';
import { say } from '../ui/toasts';
import { usePages } from '../ui/usePages';

type Template = Schemas['TemplateRow'];

const COLUMNS: readonly Column<Template>[] = [
  { title: 'Name', width: 'minmax(5rem, 1.5fr)', show: (row) => row.name },
  { title: 'Type of node', width: 'minmax(5rem, 1fr)', show: (row) => row.nodeType },
  { title: 'Id', width: 'minmax(5rem, 1fr)', show: (row) => <CopyId id={row.id} whole />, wide: true },
  { title: 'Version', width: '6rem', show: (row) => (row.builtIn ? 'built in' : row.version), wide: true },
];

export default function Templates() {
  const [open, setOpen] = useState<Template | 'new' | null>(null);
  const mayEdit = useMay('editor');
  const pages = usePages(
    ['templates'],
    (cursor) => got(api.GET('/api/workflow/node-templates', { params: { query: { cursor, limit: 100 } } })),
    { every: 30_000 },
  );
  const begin = (
    <button type="button" className="button primary" onClick={() => setOpen('new')}>
      New template
    </button>
  );
  return (
    <Page title="Templates" actions={mayEdit && begin}>
      <Listed
        label="Templates"
        pages={pages}
        columns={COLUMNS}
        keyOf={(row) => row.id}
        onOpen={setOpen}
        empty={
          <Empty title="No config is shared">
            <p className="quiet">
              A template is a node's config under a name. Nodes follow it by <code>nodeTemplateId</code>, and
              change in it what is theirs with <code>overrideConfig</code>.
            </p>
          </Empty>
        }
      />
      {open && <One template={open === 'new' ? null : open} close={() => setOpen(null)} />}
    </Page>
  );
}

function One({ template, close }: { template: Template | null; close: () => void }) {
  const queries = useQueryClient();
  const { all, byName } = useNodeTypes();
  const mayEdit = useMay('editor') && !template?.builtIn;
  const [id, setId] = useState('');
  const [name, setName] = useState(template?.name ?? '');
  const [nodeType, setNodeType] = useState(template?.nodeType ?? '');
  const [config, setConfig] = useState<JsonObject>(template?.configJson ?? {});
  const done = async (words: string) => {
    say(words);
    await queries.invalidateQueries({ queryKey: ['templates'] });
    close();
  };
  const saving = useMutation({
    mutationFn: () => saved(template, { id, name, nodeType, config }),
    onSuccess: () => done('Saved. Versions that were saved before keep what they had.'),
  });
  const removing = useMutation({
    mutationFn: () =>
      got(
        api.DELETE('/api/workflow/node-templates/{id}', {
          params: { path: { id: template?.id ?? '' } },
          headers: { 'If-Match': `"${template?.version}"` },
        }),
      ),
    onSuccess: () => done('Removed'),
  });
  const schema = byName.get(nodeType.toUpperCase())?.schema as Schema | undefined;
  return (
    <FormDialog
      title={template?.name ?? 'New template'}
      wide
      close={close}
      acting={{ mutate: saving.mutate, error: saving.error ?? removing.error, isPending: saving.isPending }}
      verb={mayEdit ? 'Save' : undefined}
      leave={mayEdit ? 'Leave it' : 'Close'}
      beside={
        template &&
        mayEdit && (
          <button
            type="button"
            className="button harm"
            disabled={removing.isPending}
            onClick={() => removing.mutate()}
          >
            Remove
          </button>
        )
      }
    >
      <fieldset className="bare stack" disabled={!mayEdit}>
        <div className="halves">
          <label className="field">
            <span>Name</span>
            <input
              className="input"
              required
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          </label>
          {template ? (
            <div className="field">
              <span>Id</span>
              <CopyId id={template.id} whole />
            </div>
          ) : (
            <label className="field">
              <span>Id</span>
              <input
                className="input mono"
                placeholder="made for you"
                value={id}
                onChange={(event) => setId(event.target.value)}
              />
            </label>
          )}
        </div>
        <label className="field">
          <span>Type of node</span>
          <select
            className="input"
            required
            value={nodeType}
            onChange={(event) => setNodeType(event.target.value)}
          >
            <option value="">Choose one</option>
            {all.map((type) => (
              <option key={type.name} value={type.name}>
                {type.title}
              </option>
            ))}
          </select>
        </label>
        {schema && (
          <SchemaForm key={nodeType} schema={schema} root={schema} value={config} change={setConfig} />
        )}
      </fieldset>
    </FormDialog>
  );
}

interface Typed {
  readonly id: string;
  readonly name: string;
  readonly nodeType: string;
  readonly config: JsonObject;
}

function saved(template: Template | null, { id, ...typed }: Typed) {
  if (!template) {
    const body = { ...typed, ...(id.trim() ? { id: id.trim() } : {}) };
    return got(api.POST('/api/workflow/node-templates', { body }));
  }
  return got(
    api.PUT('/api/workflow/node-templates/{id}', {
      params: { path: { id: template.id } },
      headers: { 'If-Match': `"${template.version}"` },
      body: typed,
    }),
  );
}
