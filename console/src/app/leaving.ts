/** Going from page to page inside the console, which asks first where something would be lost. */
import type { BaseLocationHook } from 'wouter';
import { navigate, useBrowserLocation } from 'wouter/use-browser-location';
import { Store } from '../api/store';

/** What would be lost by leaving this page, in words; null: nothing. */
export const unsaved = new Store<string | null>(null);

/** Where somebody is about to go, until they have said whether they mean it. */
export const leavingFor = new Store<(() => void) | null>(null);

type Go = typeof navigate;

const go: Go = (to, options) => {
  const elsewhere = new URL(to, location.href).pathname !== location.pathname;
  if (elsewhere && unsaved.get() !== null) leavingFor.set(() => navigate(to, options));
  else navigate(to, options);
};

export const useLocationThatAsks: BaseLocationHook = () => [useBrowserLocation()[0], go];
