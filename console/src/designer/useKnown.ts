import { useQuery } from '@tanstack/react-query';
import { api, got } from '../api/client';
import { useMay } from '../api/me';
import type { Schema } from './schema';

/** A registered query or action, as far as a form has a use for it. */
export interface Known {
  readonly key: string;
  readonly description: string | null;
  readonly sql: string;
  readonly params: Schema;
  /** Where the rows of a query are put. */
  readonly result: string | null;
}

const NONE: readonly Known[] = [];

/** What may stand in a field of such a format, as far as whoever looks may know. */
export function useKnown(format: string | undefined): readonly Known[] {
  const mayList = useMay('admin');
  const { data } = useQuery({
    queryKey: ['known', format],
    queryFn: () => (format === 'query-key' ? queries() : actions()),
    enabled: mayList && (format === 'query-key' || format === 'action-type'),
    staleTime: 30_000,
  });
  return data ?? NONE;
}

const params = { query: { limit: 200 } };

async function queries(): Promise<readonly Known[]> {
  const { items } = await got(api.GET('/api/queries', { params }));
  return items.map(({ key, description, sql, paramsSchema, resultKey }) => ({
    key,
    description,
    sql,
    params: paramsSchema as Schema,
    result: resultKey,
  }));
}

async function actions(): Promise<readonly Known[]> {
  const { items } = await got(api.GET('/api/actions', { params }));
  return items.map(({ key, description, sql, paramsSchema }) => ({
    key,
    description,
    sql: sql.join(';\n'),
    params: paramsSchema as Schema,
    result: null,
  }));
}
