import { useQueries } from '@tanstack/react-query';
import { api, got } from '../api/client';
import { isObject, type JsonObject } from '../graph/flow';
import { JsonTree } from '../ui/JsonTree';

const MOST = 30;
const EXPRESSION = /[#@$]\{/;

interface Props {
  readonly config: JsonObject;
  readonly context: unknown;
  /** Whether this is the context that the node found; else it is the one that there is now. */
  readonly exact: boolean;
}

/** What a node is given: its config with each expression's value. */
export function WasTold({ config, context, exact }: Props) {
  const written = [...new Set(texts(config).filter((text) => EXPRESSION.test(text)))].slice(0, MOST);
  const given = isObject(context) ? context : {};
  const values = useQueries({
    queries: written.map((expression) => ({
      queryKey: ['evaluated', expression, given],
      queryFn: () =>
        // What cannot be computed here (an item, a secret) is shown as it is written.
        got(api.POST('/api/expressions/evaluate', { body: { expression, context: given } })).catch(
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
  const name = exact ? 'input' : 'config, with the context as it is now';
  return <JsonTree value={filled(config, known)} name={name} open={1} />;
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
