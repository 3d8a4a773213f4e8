import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, got, type Schemas } from '../api/client';
import { isObject, type JsonObject } from '../graph/flow';
import { Problem } from '../ui/Problem';
import { useSettled } from '../ui/useSettled';

type Trigger = Schemas['TriggerRow'];
type Previewed = Schemas['PreviewedEvent'];

/** Three events, the third like the first in all that the setting looks at. */
function samples(setting: unknown): string {
  const named = isObject(setting) && Array.isArray(setting.contextFields) ? setting.contextFields : [];
  const fields = named.filter((name) => /^[\w.]+$/.test(String(name))).map((name) => String(name).split('.'));
  const events = [7, 8, 7].map((value) => ({
    context: (fields.length ? fields : [['userId']]).reduce((into, path) => put(into, path, value), {}),
  }));
  return `[\n${events.map((event) => `  ${JSON.stringify(event)}`).join(',\n')}\n]`;
}

function put(into: JsonObject, [name = '', ...inner]: readonly string[], value: number): JsonObject {
  const there = into[name];
  return { ...into, [name]: inner.length ? put(isObject(there) ? there : {}, inner, value) : value };
}

/** A trigger's idempotency setting, tried on sample events: which start something, and which are repeats. */
export function IdempotencyPreview({ trigger }: { trigger: Trigger }) {
  const [setting, setSetting] = useState(() =>
    JSON.stringify(trigger.idempotencyGenerationSetting ?? { strategy: 'UUID' }, null, 2),
  );
  const [events, setEvents] = useState(() => samples(trigger.idempotencyGenerationSetting));
  const asked = useSettled(`${setting}\n${events}`);
  const { data, error } = useQuery({
    queryKey: ['idempotency', trigger.id, asked],
    queryFn: () => previewed(setting, events, trigger.id),
    placeholderData: (before) => before,
    gcTime: 10_000,
  });
  return (
    <section className="stack" aria-label="Which events are repeats">
      <h3>Which events are repeats</h3>
      <p className="quiet">Try its setting, or another, on events as they might come. Nothing is started.</p>
      <div className="halves">
        <label className="field">
          <span>Setting</span>
          <textarea
            className="input mono"
            rows={8}
            spellCheck={false}
            value={setting}
            onChange={(event) => setSetting(event.target.value)}
          />
        </label>
        <label className="field">
          <span>Events</span>
          <textarea
            className="input mono"
            rows={8}
            spellCheck={false}
            value={events}
            onChange={(event) => setEvents(event.target.value)}
          />
        </label>
      </div>
      {error ? <Problem error={error} /> : data && <Results results={data.results} />}
    </section>
  );
}

async function previewed(setting: string, events: string, triggerId: string) {
  const body = { setting: parsed(setting, 'setting'), events: parsed(events, 'events'), triggerId };
  return got(api.POST('/api/workflow/idempotency/preview', { body: body as never }));
}

function parsed(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`The ${name} are no JSON: ${(error as Error).message}`);
  }
}

const TONES: Record<string, string> = { RUN: '✓ starts', SKIPPED: '↷ skipped', REFUSED: '✕ refused' };

function Results({ results }: { results: readonly Previewed[] }) {
  return (
    <table className="times">
      <thead>
        <tr>
          <th scope="col">Event</th>
          <th scope="col">It is</th>
          <th scope="col">Key</th>
        </tr>
      </thead>
      <tbody>
        {results.map((each, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: events have no names but their places
          <tr key={index}>
            <td>{index + 1}</td>
            <td>
              {TONES[each.status] ?? each.status}
              {each.duplicateOf !== null &&
                each.duplicateOf !== undefined &&
                `: repeats ${each.duplicateOf + 1}`}
              {each.message && <span className="quiet"> {each.message}</span>}
            </td>
            <td>
              <code>{each.key ?? '–'}</code>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
