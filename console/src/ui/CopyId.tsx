import { useState } from 'react';
import { say } from './toasts';

/** An id, short; a click copies the whole of it. */
export function CopyId({ id, whole }: { id: string; whole?: boolean }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(id);
    setCopied(true);
    say(`Copied ${id}`);
    setTimeout(() => setCopied(false), 1200);
  };
  const shown = whole || id.length <= 14 ? id : `…${id.slice(-8)}`;
  return (
    <button type="button" className="id" title={`${id} (click to copy)`} onClick={copy}>
      {copied ? 'copied' : shown}
    </button>
  );
}
