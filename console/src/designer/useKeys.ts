import { useEffect, useRef } from 'react';

/** Keys that mean something wherever nobody is typing. */
export function useKeys(keys: Record<string, () => unknown>): void {
  const known = useRef(keys);
  known.current = keys;
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const mod = event.metaKey || event.ctrlKey;
      const name = [mod && 'mod', mod && event.shiftKey && 'shift', event.key.toLowerCase()]
        .filter(Boolean)
        .join('+');
      const typing =
        event.target instanceof HTMLElement &&
        event.target.closest('input, textarea, select, [contenteditable], [role=dialog]');
      const act = known.current[name];
      if (!act || (typing && name !== 'mod+s') || (!mod && (event.altKey || event.repeat))) return;
      if (name === 'mod+c' && getSelection()?.toString()) return;
      event.preventDefault();
      act();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
}
