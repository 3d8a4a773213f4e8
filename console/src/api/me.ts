import { useQuery } from '@tanstack/react-query';
import { api, got, type Schemas } from './client';

export type Me = Schemas['Me'];
export type Role = 'viewer' | 'operator' | 'editor' | 'admin';

export function useMe(): Me | undefined {
  return useQuery({ queryKey: ['me'], queryFn: () => got(api.GET('/api/me')), staleTime: 300_000 }).data;
}

/** Whether to show what this role may do; the server checks it all the same. */
export function useMay(role: Role): boolean {
  return useMe()?.may.includes(role) ?? false;
}
