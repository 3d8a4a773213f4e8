import { useCallback, useMemo } from 'react';
import { useLocation, useSearch } from 'wouter';

/** Filters that live in the address, so that it restores them. */
export function useFilters() {
  const search = useSearch();
  const [path, go] = useLocation();
  const filters = useMemo(() => Object.fromEntries(new URLSearchParams(search)), [search]) as Record<
    string,
    string | undefined
  >;
  const set = useCallback(
    (changes: Record<string, string | undefined>) => {
      const query = new URLSearchParams(search);
      for (const [name, value] of Object.entries(changes)) {
        if (value) query.set(name, value);
        else query.delete(name);
      }
      go(query.size ? `${path}?${query}` : path, { replace: true });
    },
    [search, path, go],
  );
  return [filters, set] as const;
}
