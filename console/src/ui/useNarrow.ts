import { useSyncExternalStore } from 'react';

/** As narrow as a telephone: the same width as in the styles. */
const narrow = matchMedia('(max-width: 560px)');

export function useNarrow(): boolean {
  return useSyncExternalStore(
    (changed) => {
      narrow.addEventListener('change', changed);
      return () => narrow.removeEventListener('change', changed);
    },
    () => narrow.matches,
  );
}
