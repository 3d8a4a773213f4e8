import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, got, type Schemas } from '../api/client';
import { useMay, useMe } from '../api/me';
import { settings } from '../api/settings';
import { useStore } from '../api/store';
import { chooseTheme, type Theme, theme } from '../app/theme';
import { Asked } from '../ui/Asked';
import { CopyId } from '../ui/CopyId';
import { Dialog } from '../ui/Dialog';
import { FormDialog } from '../ui/FormDialog';
import { Page } from '../ui/Page';
import { Status } from '../ui/Status';
import { Time } from '../ui/Time';
import { usePages } from '../ui/usePages';
import { DataSources, Statements } from './DataSettings';
import { Kept } from './Kept';
import { Secrets } from './Secrets';

const HOW: Record<string, string> = {
  token: 'with a token',
  oidc: 'at the provider',
  loopback: 'by being on this machine',
  insecure: 'without being asked',
};
const THEMES: readonly Theme[] = ['system', 'light', 'dark'];
const ROLES = ['viewer', 'producer', 'operator', 'editor', 'admin'] as const;

export default function Settings() {
  const isAdmin = useMay('admin');
  return (
    <Page title="Settings">
      <div className="settings">
        <You />
        {isAdmin && <Tokens />}
        {isAdmin && <Secrets />}
        {isAdmin && <DataSources />}
        {isAdmin && <Statements kind="queries" />}
        {isAdmin && <Statements kind="actions" />}
      </div>
    </Page>
  );
}

function You() {
  const me = useMe();
  const chosen = useStore(theme);
  return (
    <section className="card stack">
      <h2>You</h2>
      <dl className="facts">
        <dt>Name</dt>
        <dd>{me?.name ?? '…'}</dd>
        <dt>May act as</dt>
        <dd>{me?.may.join(', ') ?? '…'}</dd>
        <dt>Institute</dt>
        <dd>{me?.instituteId ?? 'all of them'}</dd>
        <dt>Signed in</dt>
        <dd>{me ? (HOW[me.how] ?? me.how) : '…'}</dd>
        <dt>Muster</dt>
        <dd>{settings.version}</dd>
      </dl>
      <fieldset className="bare inline">
        <legend>Colours</legend>
        {THEMES.map((each) => (
          <label key={each} className="inline">
            <input
              type="radio"
              name="theme"
              className="choice"
              checked={chosen === each}
              onChange={() => chooseTheme(each)}
            />
            {each}
          </label>
        ))}
      </fieldset>
    </section>
  );
}

type Token = Schemas['TokenRow'];

function Tokens() {
  const [asking, ask] = useState<'new' | Token | null>(null);
  const queries = useQueryClient();
  const pages = usePages(['tokens'], (cursor) =>
    got(api.GET('/api/tokens', { params: { query: { cursor, limit: 100 } } })),
  );
  return (
    <Kept
      title="API tokens"
      one="token"
      words="For programs, and for people without a provider. Each is shown once."
      columns={['Name', 'May', 'Used', 'Ends']}
      error={pages.error}
      begin={() => ask('new')}
      rows={pages.rows.map((token) => (
        <tr key={token.id}>
          <td>{token.name}</td>
          <td>{token.roles.join(', ')}</td>
          <td>
            <Time at={token.lastUsedAt} />
          </td>
          <td>{token.revokedAt ? <Status of="CANCELLED" /> : <Time at={token.expiresAt} />}</td>
          <td>
            {!token.revokedAt && (
              <button type="button" className="button small" onClick={() => ask(token)}>
                Revoke
              </button>
            )}
          </td>
        </tr>
      ))}
    >
      {asking === 'new' && <NewToken close={() => ask(null)} />}
      {asking && asking !== 'new' && (
        <Asked
          title={`Revoke ${asking.name}`}
          what="Whoever uses it is refused from now on, for good."
          verb="Revoke"
          harmful
          close={() => ask(null)}
          act={async () => {
            await got(api.DELETE('/api/tokens/{id}', { params: { path: { id: asking.id } } }));
            await queries.invalidateQueries({ queryKey: ['tokens'] });
          }}
        />
      )}
    </Kept>
  );
}

function NewToken({ close }: { close: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [role, setRole] = useState<(typeof ROLES)[number]>('viewer');
  const [days, setDays] = useState('90');
  const making = useMutation({
    mutationFn: () => {
      const end = Number(days) > 0 ? new Date(Date.now() + Number(days) * 86_400_000).toISOString() : null;
      return got(api.POST('/api/tokens', { body: { name, roles: [role], expiresAt: end } }));
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['tokens'] }),
  });
  if (making.data) {
    return (
      <Dialog open close={close} title="Keep it now">
        <div className="stack">
          <p>This is the token. Nobody can show it again.</p>
          <CopyId id={making.data.token} whole />
          <footer>
            <button type="button" className="button primary" onClick={close}>
              I have it
            </button>
          </footer>
        </div>
      </Dialog>
    );
  }
  return (
    <FormDialog title="New token" close={close} acting={making} verb="Make it">
      <label className="field">
        <span>Name</span>
        <input
          className="input"
          required
          value={name}
          placeholder="who uses it"
          onChange={(event) => setName(event.target.value)}
        />
      </label>
      <label className="field">
        <span>Role</span>
        <select
          className="input"
          value={role}
          onChange={(event) => setRole(event.target.value as typeof role)}
        >
          {ROLES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
      <label className="field">
        <span>Days until it ends</span>
        <input
          className="input"
          type="number"
          min="0"
          value={days}
          onChange={(event) => setDays(event.target.value)}
        />
        <small>0: it does not end by itself.</small>
      </label>
    </FormDialog>
  );
}
