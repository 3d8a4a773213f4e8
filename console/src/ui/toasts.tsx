import { Store, useStore } from '../api/store';

interface Toast {
  readonly number: number;
  readonly text: string;
}

const toasts = new Store<readonly Toast[]>([]);
let count = 0;

/** Say something in passing, also to who does not see. */
export function say(text: string): void {
  count += 1;
  const number = count;
  toasts.set([...toasts.get(), { number, text }]);
  setTimeout(() => toasts.set(toasts.get().filter((toast) => toast.number !== number)), 4000);
}

export function Toasts() {
  return (
    <div className="toasts" role="status" aria-live="polite">
      {useStore(toasts).map((toast) => (
        <div key={toast.number} className="toast">
          {toast.text}
        </div>
      ))}
    </div>
  );
}
