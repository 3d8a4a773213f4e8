import { useQuery } from '@tanstack/react-query';
import { api, got } from '../api/client';
import { useMay } from '../api/me';

const NONE: readonly string[] = [];

/** What may stand in a field of such a format, as far as whoever looks may know. */
export function useKnown(format: string | undefined): readonly string[] {
  const mayList = useMay('admin');
  const { data } = useQuery({
    queryKey: ['known', format],
    queryFn: () => keysOf(format),
    enabled: mayList && (format === 'query-key' || format === 'action-type'),
    staleTime: 30_000,
  });
  return data ?? NONE;
}

async function keysOf(format: string | undefined): Promise<readonly string[]> {
  const params = { query: { limit: 200 } };
  const found =
    format === 'query-key'
      ? await got(api.GET('/api/queries', { params }))
      : await got(api.GET('/api/actions', { params }));
  return found.items.map((each) => each.key);
}
