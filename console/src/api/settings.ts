/** What the server says on its first page: how people sign in, and a nonce for styles that are made here. */
export interface Settings {
  readonly version: string;
  readonly issuer: string | null;
  readonly clientId: string | null;
}

const meta = document.querySelector<HTMLMetaElement>('meta[name=muster]');

export const nonce = meta?.dataset.nonce ?? '';
export const settings: Settings = read(meta?.content);

function read(text: string | undefined): Settings {
  if (!text?.startsWith('{"')) return { version: 'dev', issuer: null, clientId: null };
  return JSON.parse(text) as Settings;
}
