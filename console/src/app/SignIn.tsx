import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { canSignIn, leaveToSignIn } from '../api/oidc';
import { signedInWith } from '../api/session';
import { Problem } from '../ui/Problem';
import { Mark } from './Mark';

/** Whoever is not known yet: by the provider, where there is one, or with a token. */
export function SignIn({ error }: { error: unknown }) {
  const queries = useQueryClient();
  const [token, setToken] = useState('');
  const [wrong, setWrong] = useState(error);
  const enter = (event: React.FormEvent) => {
    event.preventDefault();
    queries.clear();
    signedInWith(token.trim());
  };
  return (
    <main className="sign-in">
      <div className="card">
        <Mark />
        <h1>Sign in to Muster</h1>
        {wrong ? <Problem error={wrong} /> : null}
        {canSignIn && (
          <button
            type="button"
            className="button primary large"
            onClick={() => leaveToSignIn().catch(setWrong)}
          >
            Continue with your organisation
          </button>
        )}
        <form onSubmit={enter}>
          <label className="field">
            <span>API token</span>
            <input
              className="input"
              type="password"
              autoComplete="off"
              placeholder="mst_…"
              value={token}
              onChange={(event) => setToken(event.target.value)}
              required
            />
            <small>
              An administrator makes one with <code>muster token create</code>. It stays in this tab, and is
              gone when you close or reload it.
            </small>
          </label>
          <button type="submit" className={canSignIn ? 'button large' : 'button primary large'}>
            Use this token
          </button>
        </form>
      </div>
    </main>
  );
}
