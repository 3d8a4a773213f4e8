import { useQueries } from '@tanstack/react-query';
import { api, got } from '../api/client';
import { isObject, type JsonObject } from '../graph/flow';
import { JsonTree } from '../ui/JsonTree';

const MOST = 30;
const EXPRESSION = /[#@$]\{/;

/** What a node is given: its config with each expression's value. The context is the one that is there now, which
 * for what failed or goes on is the one that it found. */
export function WasTold({ config, context }: { config: JsonObject; context: unknown }) {
  const written = [...new Set(texts(config).filter((text) => EXPRESSION.test(text)))].slice(0, MOST);
  const given = isObject(context) ? context : {};
  const values = useQueries({
    queries: written.map((expression) => ({
      queryKey: ['evaluated', expression, given],
      queryFn: () =>
        // What cannot be computed here (an item, a secret) is shown as it is written.
        got(api.POST('/api/expressions/evaluate', { body: { expression, context: given as never } })).catch(
          () => null,
        ),
      staleTime: Number.POSITIVE_INFINITY,
    })),
  });
  const known = new Map(
    written.flatMap((text, at) => {
      const found = values[at]?.data;
      return found ? [[text, found.value] as const] : [];
    }),
  );
  return <JsonTree value={filled(config, known)} name="input" open={1} />;
}

function texts(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(texts) : [];
}

function filled(value: unknown, known: ReadonlyMap<string, unknown>): unknown {
  if (typeof value === 'string') return known.has(value) ? known.get(value) : value;
  if (Array.isArray(value)) return value.map((each) => filled(each, known));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, filled(each, known)]));
}
