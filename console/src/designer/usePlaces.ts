import { useCallback, useState } from 'react';
import type { Place } from '../graph/layout';

export type Places = ReadonlyMap<string, Place>;

/** Where nodes were dragged to: this browser's own affair, since a definition says nothing of places. What is not
 * saved yet has no key: its places are kept once it has one. */
export function usePlaces(key: string | null, begun: Places | null): [Places, (places: Places) => void] {
  const [places, setPlaces] = useState<Places>(() => begun ?? new Map(key === null ? [] : kept(key)));
  const move = useCallback(
    (now: Places) => {
      setPlaces(now);
      if (key !== null) keepPlaces(key, now);
    },
    [key],
  );
  return [places, move];
}

export function keepPlaces(key: string, places: Places): void {
  if (places.size) localStorage.setItem(nameOf(key), JSON.stringify([...places]));
  else localStorage.removeItem(nameOf(key));
}

function nameOf(key: string): string {
  return `muster.places.${key}`;
}

function kept(key: string): [string, Place][] {
  try {
    return JSON.parse(localStorage.getItem(nameOf(key)) ?? '[]') as [string, Place][];
  } catch {
    return [];
  }
}
