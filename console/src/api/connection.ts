/** Whether the server is there, as the last call or stream found it. */
import { Store } from './store';

export const lostSince = new Store<Date | null>(null);

export function reached(): void {
  lostSince.set(null);
}

export function lost(): void {
  if (lostSince.get() === null) lostSince.set(new Date());
}
