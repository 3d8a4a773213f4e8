import * as Radix from '@radix-ui/react-dialog';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { canSignIn, leaveToSignIn } from '../api/oidc';
import { signedInWith, signOut } from '../api/session';
import { Problem } from '../ui/Problem';
import { Mark } from './Mark';

/** Whoever is not known yet: by the provider, where there is one, or with a token. */
export function SignIn({ error }: { error: unknown }) {
  const queries = useQueryClient();
  return (
    <main className="sign-in">
      <div className="card">
        <Mark />
        <h1>Sign in to Muster</h1>
        <Ways
          error={error}
          enter={(token) => {
            queries.clear();
            signedInWith(token);
          }}
        />
      </div>
    </main>
  );
}

/** Whose sign-in has come to its end: over the page, which stays as it is underneath, with all that is not saved. */
export function SignInAgain() {
  const queries = useQueryClient();
  return (
    <Radix.Root open>
      <Radix.Portal>
        <Radix.Overlay className="overlay" />
        <Radix.Content className="dialog sign-in-again" aria-describedby={undefined}>
          <Radix.Title>Sign in again</Radix.Title>
          <p className="quiet">Your sign-in has come to its end. The page stays as you left it.</p>
          <Ways
            error={null}
            enter={(token) => {
              signedInWith(token);
              queries.removeQueries({ type: 'inactive' });
              void queries.invalidateQueries();
            }}
          />
          <button
            type="button"
            className="link"
            onClick={() => {
              queries.clear();
              signOut();
            }}
          >
            I am somebody else: begin anew
          </button>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

function Ways({ error, enter }: { error: unknown; enter: (token: string) => void }) {
  const [token, setToken] = useState('');
  const [wrong, setWrong] = useState(error);
  return (
    <>
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
      <form
        onSubmit={(event) => {
          event.preventDefault();
          enter(token.trim());
        }}
      >
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
    </>
  );
}
