/** What was not saved when its page went away: signing in again, or the browser's way back, takes the page with it.
 * Kept in this tab, until the page is opened again. */
import type { Flow } from '../graph/flow';
import type { Places } from './usePlaces';

export interface Draft {
  readonly flow: Flow;
  readonly places: Places;
  /** The version that it was made of. */
  readonly seen: number;
}

export function keepDraft(key: string | null, { flow, places, seen }: Draft): void {
  sessionStorage.setItem(nameOf(key), JSON.stringify({ flow, places: [...places], seen }));
}

export function draftOf(key: string | null): Draft | null {
  try {
    const kept = JSON.parse(sessionStorage.getItem(nameOf(key)) ?? 'null');
    return kept && { ...kept, places: new Map(kept.places) };
  } catch {
    return null;
  }
}

export function dropDraft(key: string | null): void {
  sessionStorage.removeItem(nameOf(key));
}

function nameOf(key: string | null): string {
  return `muster.draft.${key ?? 'new'}`;
}
