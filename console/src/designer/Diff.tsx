import { useMemo } from 'react';
import { diffLines, shortened } from './diff';

export function Diff({ before, after }: { before: unknown; after: unknown }) {
  const lines = useMemo(() => {
    const text = (value: unknown) => JSON.stringify(value, null, 2);
    return shortened(diffLines(text(before), text(after)));
  }, [before, after]);
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
