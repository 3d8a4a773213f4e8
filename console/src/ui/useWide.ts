import { useSyncExternalStore } from 'react';

/** Room for two things side by side. */
const wide = matchMedia('(min-width: 1280px)');

export function useWide(): boolean {
  return useSyncExternalStore(
    (changed) => {
      wide.addEventListener('change', changed);
      return () => wide.removeEventListener('change', changed);
    },
    () => wide.matches,
  );
}
