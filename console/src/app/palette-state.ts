import { Store } from '../api/store';

export const paletteOpen = new Store(false);

export function openPalette(): void {
  paletteOpen.set(true);
}
