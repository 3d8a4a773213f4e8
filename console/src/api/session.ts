/** Who is signed in. The token is kept in memory alone: a new page asks anew. */
import { Store } from './store';

export interface Session {
  readonly token: string | null;
  /** The server refused what we had, or had not: somebody has to sign in. */
  readonly refused: boolean;
}

export const session = new Store<Session>({ token: null, refused: false });

/** A further token of the same person changes nothing but what is sent: what they do goes on. */
export function signedInWith(token: string): void {
  session.set({ token, refused: false });
}

export function signOut(): void {
  session.set({ token: null, refused: true });
}

export function refused(): void {
  const { token, refused } = session.get();
  if (!refused) session.set({ token, refused: true });
}

export function authorization(): Record<string, string> {
  const { token } = session.get();
  return token ? { Authorization: `Bearer ${token}` } : {};
}
