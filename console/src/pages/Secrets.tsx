import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, got, type Schemas } from '../api/client';
import { Asked } from '../ui/Asked';
import { FormDialog } from '../ui/FormDialog';
import { Time } from '../ui/Time';
import { say } from '../ui/toasts';
import { usePages } from '../ui/usePages';
import { Kept } from './Kept';

type Secret = Schemas['SecretRow'];

export function Secrets() {
  const [asking, ask] = useState<'new' | Secret | null>(null);
  const [removing, remove] = useState<Secret | null>(null);
  const queries = useQueryClient();
  const pages = usePages(['secrets'], (cursor) =>
    got(api.GET('/api/secrets', { params: { query: { cursor, limit: 100 } } })),
  );
  return (
    <Kept
      title="Secrets"
      one="secret"
      words={
        <>
          Definitions read them as <code>{'#{_vars.name}'}</code>. What they are comes in, and never out.
        </>
      }
      columns={['Name', 'Changed']}
      error={pages.error}
      begin={() => ask('new')}
      rows={pages.rows.map((secret) => (
        <tr key={`${secret.instituteId} ${secret.name}`}>
          <td>
            <code>{secret.name}</code>
          </td>
          <td>
            <Time at={secret.updatedAt} />
          </td>
          <td>
            <div className="inline">
              <button type="button" className="button small" onClick={() => ask(secret)}>
                Change
              </button>
              <button type="button" className="button small" onClick={() => remove(secret)}>
                Remove
              </button>
            </div>
          </td>
        </tr>
      ))}
    >
      {asking && <SecretDialog secret={asking === 'new' ? null : asking} close={() => ask(null)} />}
      {removing && (
        <Asked
          title={`Remove ${removing.name}`}
          what="Whatever reads it fails from now on."
          verb="Remove"
          harmful
          close={() => remove(null)}
          act={async () => {
            await got(
              api.DELETE('/api/secrets/{name}', { params: { path: { name: removing.name }, query: {} } }),
            );
            await queries.invalidateQueries({ queryKey: ['secrets'] });
          }}
        />
      )}
    </Kept>
  );
}

function SecretDialog({ secret, close }: { secret: Secret | null; close: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState(secret?.name ?? '');
  const [value, setValue] = useState('');
  const saving = useMutation({
    mutationFn: () =>
      secret
        ? got(
            api.PUT('/api/secrets/{name}', {
              params: { path: { name }, query: {} },
              body: { value },
            }),
          )
        : got(api.POST('/api/secrets', { body: { name, value } })),
    onSuccess: async () => {
      say('Kept');
      await queries.invalidateQueries({ queryKey: ['secrets'] });
      close();
    },
  });
  return (
    <FormDialog
      title={secret ? `Change ${secret.name}` : 'New secret'}
      close={close}
      acting={saving}
      verb="Keep it"
    >
      {!secret && (
        <label className="field">
          <span>Name</span>
          <input
            className="input mono"
            required
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        </label>
      )}
      <label className="field">
        <span>Value</span>
        <input
          className="input"
          type="password"
          autoComplete="off"
          required
          value={value}
          onChange={(event) => setValue(event.target.value)}
        />
      </label>
    </FormDialog>
  );
}
