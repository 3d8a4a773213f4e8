import createClient, { type Middleware } from 'openapi-fetch';
import { lost, reached } from './connection';
import type { components, paths } from './schema';
import { authorization, refused } from './session';

export type Schemas = components['schemas'];
export type ProblemEntry = Schemas['ProblemEntry'];

/** What the server refused, in its own words. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId: string | null,
    readonly errors: readonly ProblemEntry[] = [],
  ) {
    super(message);
  }
}

/** The server was not reached. */
export class Unreached extends Error {
  constructor() {
    super('The server cannot be reached. It is tried again by itself.');
  }
}

const guarding: Middleware = {
  onRequest({ request }) {
    for (const [name, value] of Object.entries(authorization())) request.headers.set(name, value);
    return request;
  },
  async onResponse({ response }) {
    reached();
    if (response.ok) return undefined;
    throw await refusalOf(response);
  },
  onError() {
    lost();
    return new Unreached();
  },
};

export async function refusalOf(response: Response): Promise<Refusal> {
  const requestId = response.headers.get('x-request-id');
  const problem = (await response.json().catch(() => null)) as Schemas['ProblemDetails'] | null;
  if (response.status === 401) refused();
  if (!problem?.code) return new Refusal(response.status, 'UNKNOWN', response.statusText, requestId);
  return new Refusal(response.status, problem.code, problem.detail, requestId, problem.errors ?? []);
}

export const api = createClient<paths>({ baseUrl: '/' });
api.use(guarding);

/** The body of an answer that is not a refusal: those are thrown. */
export async function got<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}
