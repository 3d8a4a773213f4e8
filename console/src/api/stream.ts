/** Server-sent events by `fetch`, so that they carry the bearer: read, lost, taken up where they were. */
import { refusalOf } from './client';
import { lost, reached } from './connection';
import { authorization } from './session';

export interface Told {
  readonly event: string;
  readonly data: unknown;
}

/** Told of itself, not by the server: the stream is back, and what happened meanwhile nobody tells. */
export const BACK = 'back';

const LONGEST_REST = 10_000;

/** Follow until the returned function is called, or the server says that there is no more (204). */
export function follow(path: string, told: (event: Told) => void): () => void {
  const stopped = new AbortController();
  void following(path, told, stopped.signal);
  return () => stopped.abort();
}

async function following(path: string, told: (event: Told) => void, signal: AbortSignal): Promise<void> {
  let last: string | null = null;
  let rest = 500;
  let broken = false;
  while (!signal.aborted) {
    try {
      const headers = { ...authorization(), ...(last ? { 'Last-Event-ID': last } : {}) };
      const response = await fetch(path, { headers, signal });
      if (response.status === 204) return;
      if (!response.ok || !response.body) throw await refusalOf(response);
      reached();
      rest = 500;
      // Who had not reached any place yet begins anew, after what happened in between.
      if (broken && last === null) told({ event: BACK, data: null });
      broken = true;
      for await (const { id, ...event } of events(response.body)) {
        last = id ?? last;
        told(event);
        if (event.event === 'end') return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof TypeError) lost();
      rest = Math.min(rest * 2, LONGEST_REST);
    }
    await new Promise((resolve) => setTimeout(resolve, rest));
  }
}

async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<Told & { id?: string }> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let kept = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (kept + decoder.decode(value, { stream: true })).split('\n\n');
    kept = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line) => split(line)));
      const data = fields.get('data');
      if (data)
        yield { id: fields.get('id'), event: fields.get('event') ?? 'message', data: JSON.parse(data) };
    }
  }
}

function split(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
}
