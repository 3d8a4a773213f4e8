import type { ReactNode } from 'react';
import { Problem } from '../ui/Problem';

interface Keeping {
  readonly title: string;
  /** What a new one is called. */
  readonly one: string;
  readonly words: ReactNode;
  readonly columns: readonly string[];
  readonly rows: readonly ReactNode[];
  readonly error: Error | null;
  readonly begin: () => void;
  readonly children: ReactNode;
}

/** What is kept here: each has its row, whose last cell is what can be done with it. */
export function Kept({ title, one, words, columns, rows, error, begin, children }: Keeping) {
  return (
    <section className="card stack" aria-label={title}>
      <header className="inline">
        <h2>{title}</h2>
        <button type="button" className="button small" onClick={begin}>
          New {one}
        </button>
      </header>
      <p className="quiet">{words}</p>
      {error && <Problem error={error} />}
      {rows.length > 0 && (
        <table className="times">
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column} scope="col">
                  {column}
                </th>
              ))}
              <th scope="col">
                <span className="unseen">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>{rows}</tbody>
        </table>
      )}
      {children}
    </section>
  );
}
