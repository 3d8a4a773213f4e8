import { useMemo } from 'react';
import { diffLines, shortened } from './diff';

export function Diff({ of: [before, after] }: { of: readonly [before: unknown, after: unknown] }) {
  const [old, now] = [JSON.stringify(before, null, 2), JSON.stringify(after, null, 2)];
  const lines = useMemo(() => shortened(diffLines(old, now)), [old, now]);
  if (!lines.some((line) => line && line.sign !== ' ')) return <p className="quiet">Nothing is different.</p>;
  return (
    <pre className="code diff">
      {lines.map((line, index) => (
        <span
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no names but their places
          key={index}
          className={line === null ? 'gap' : line.sign === '+' ? 'came' : line.sign === '-' ? 'went' : ''}
        >
          {line === null ? '⋯\n' : `${line.sign} ${line.text}\n`}
        </span>
      ))}
    </pre>
  );
}
