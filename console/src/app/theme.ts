import { Store } from '../api/store';

export type Theme = 'system' | 'light' | 'dark';

const KEPT = 'muster.theme';
export const theme = new Store<Theme>((localStorage.getItem(KEPT) as Theme | null) ?? 'system');

export function applyTheme(): void {
  const chosen = theme.get();
  if (chosen === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}

export function chooseTheme(chosen: Theme): void {
  theme.set(chosen);
  localStorage.setItem(KEPT, chosen);
  applyTheme();
}
