/** Signing in at the OpenID provider: authorization code with PKCE, nothing kept but in this tab. */
import { signedInWith } from './session';
import { settings } from './settings';

const KEPT = 'muster.signing-in';
const CALLBACK = '/console/signed-in';

interface Provider {
  readonly authorization_endpoint: string;
  readonly token_endpoint: string;
}

interface Underway {
  readonly state: string;
  readonly verifier: string;
  readonly back: string;
}

export const canSignIn = settings.issuer !== null && settings.clientId !== null;

/** Leave for the provider; it sends people back to where they were. */
export async function leaveToSignIn(): Promise<void> {
  const { authorization_endpoint } = await provider();
  const underway = { state: random(), verifier: random(), back: location.pathname + location.search };
  sessionStorage.setItem(KEPT, JSON.stringify(underway));
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: settings.clientId ?? '',
    redirect_uri: redirect(),
    scope: 'openid',
    state: underway.state,
    code_challenge: await challenge(underway.verifier),
    code_challenge_method: 'S256',
  });
  location.assign(`${authorization_endpoint}?${query}`);
}

export function isComingBack(): boolean {
  return location.pathname === CALLBACK;
}

/** Change the code that came back for a token, and return to where the person was. Throws what went wrong. */
export async function comeBack(): Promise<void> {
  const query = new URLSearchParams(location.search);
  const underway = JSON.parse(sessionStorage.getItem(KEPT) ?? 'null') as Underway | null;
  sessionStorage.removeItem(KEPT);
  const refused = query.get('error');
  if (refused) throw new Error(query.get('error_description') ?? refused);
  if (!underway || query.get('state') !== underway.state)
    throw new Error('This sign-in was not begun in this tab.');
  await exchange({
    grant_type: 'authorization_code',
    code: query.get('code') ?? '',
    code_verifier: underway.verifier,
    redirect_uri: redirect(),
  });
  history.replaceState(null, '', underway.back.startsWith('/console/') ? underway.back : '/console/');
}

async function exchange(fields: Record<string, string>): Promise<void> {
  const { token_endpoint } = await provider();
  const body = new URLSearchParams({ ...fields, client_id: settings.clientId ?? '' });
  const answer = await fetch(token_endpoint, { method: 'POST', body });
  if (!answer.ok) throw new Error('The provider did not accept the sign-in.');
  const { access_token, refresh_token, expires_in } = (await answer.json()) as Granted;
  signedInWith(access_token);
  if (refresh_token && expires_in)
    setTimeout(() => renew(refresh_token), Math.max(expires_in - 30, 5) * 1000);
}

interface Granted {
  readonly access_token: string;
  readonly refresh_token?: string;
  readonly expires_in?: number;
}

function renew(token: string): void {
  // Where it cannot be renewed, the next call is refused, and the person signs in again.
  exchange({ grant_type: 'refresh_token', refresh_token: token }).catch(() => undefined);
}

async function provider(): Promise<Provider> {
  const issuer = (settings.issuer ?? '').replace(/\/$/, '');
  const answer = await fetch(`${issuer}/.well-known/openid-configuration`);
  if (!answer.ok) throw new Error(`The provider at ${issuer} does not answer.`);
  return (await answer.json()) as Provider;
}

function redirect(): string {
  return location.origin + CALLBACK;
}

function random(): string {
  return encoded(crypto.getRandomValues(new Uint8Array(32)));
}

async function challenge(verifier: string): Promise<string> {
  return encoded(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))));
}

function encoded(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
