import { useCallback, useState } from 'react';
import type { Place } from '../graph/layout';

/** Where nodes were dragged to: this browser's own affair, since a definition says nothing of places. */
export function usePlaces(
  key: string,
): [ReadonlyMap<string, Place>, (places: ReadonlyMap<string, Place>) => void] {
  const name = `muster.places.${key}`;
  const [places, setPlaces] = useState<ReadonlyMap<string, Place>>(() => new Map(kept(name)));
  const move = useCallback(
    (now: ReadonlyMap<string, Place>) => {
      setPlaces(now);
      if (now.size) localStorage.setItem(name, JSON.stringify([...now]));
      else localStorage.removeItem(name);
    },
    [name],
  );
  return [places, move];
}

function kept(name: string): [string, Place][] {
  try {
    return JSON.parse(localStorage.getItem(name) ?? '[]') as [string, Place][];
  } catch {
    return [];
  }
}
