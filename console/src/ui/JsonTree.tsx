import { useState } from 'react';

/** JSON that folds. Everything in it is text, whatever it says. */
export function JsonTree({ value, name, open = 2 }: { value: unknown; name?: string; open?: number }) {
  const inner = entries(value);
  const [unfolded, unfold] = useState(open > 0);
  const [shown, show] = useState(100);
  if (!inner) return <Line name={name}>{<Leaf value={value} />}</Line>;
  const brackets = Array.isArray(value) ? '[]' : '{}';
  if (inner.length === 0) return <Line name={name}>{brackets}</Line>;
  return (
    <div className="tree">
      <button type="button" className="fold" aria-expanded={unfolded} onClick={() => unfold(!unfolded)}>
        <span aria-hidden="true">{unfolded ? '▾' : '▸'}</span>
        {name !== undefined && <span className="key">{name}</span>}
        <span className="quiet">{counted(value, inner.length)}</span>
      </button>
      {unfolded && (
        <div className="branch">
          {inner.slice(0, shown).map(([key, each]) => (
            <JsonTree key={key} name={key} value={each} open={open - 1} />
          ))}
          {inner.length > shown && (
            <button type="button" className="link" onClick={() => show(shown + 500)}>
              {inner.length - shown} more
            </button>
          )}
        </div>
      )}
    </div>
  );
}

function Line({ name, children }: { name: string | undefined; children: React.ReactNode }) {
  return (
    <div className="line">
      {name !== undefined && <span className="key">{name}</span>}
      {children}
    </div>
  );
}

function Leaf({ value }: { value: unknown }) {
  if (typeof value === 'string') return <span className="text">{JSON.stringify(value)}</span>;
  return <span className="atom">{String(value)}</span>;
}

function entries(value: unknown): [string, unknown][] | null {
  return typeof value === 'object' && value !== null ? Object.entries(value) : null;
}

function counted(value: unknown, count: number): string {
  const noun = Array.isArray(value) ? 'item' : 'field';
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
