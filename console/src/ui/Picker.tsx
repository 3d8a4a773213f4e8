import { type ReactNode, useId, useState } from 'react';

export interface Offer {
  readonly key: string;
  readonly kind: string;
  readonly title: ReactNode;
}

interface Props<One extends Offer> {
  /** What may be typed. */
  readonly label: string;
  readonly text: string;
  readonly type: (text: string) => void;
  readonly found: readonly One[];
  readonly take: (one: One) => void;
}

/** Type a few letters, press Enter: a field with what fits below it. */
export function Picker<One extends Offer>({ label, text, type, found, take }: Props<One>) {
  const id = useId();
  const [at, move] = useState(0);
  const pressed = (event: React.KeyboardEvent) => {
    const one = found[at];
    if (event.key === 'ArrowDown') move(Math.min(at + 1, found.length - 1));
    else if (event.key === 'ArrowUp') move(Math.max(at - 1, 0));
    else if (event.key !== 'Enter') return;
    else if (one) take(one);
    event.preventDefault();
  };
  return (
    <div className="palette">
      <input
        className="input large"
        role="combobox"
        aria-label={label}
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={found[at] ? `${id}-${at}` : undefined}
        placeholder={label}
        value={text}
        onChange={(event) => {
          type(event.target.value);
          move(0);
        }}
        onKeyDown={pressed}
      />
      <div id={id} role="listbox" aria-label="Found">
        {found.map((one, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input above has the keyboard
          <div
            key={one.key}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onClick={() => take(one)}
            onMouseMove={() => move(index)}
          >
            <span className="kind">{one.kind}</span>
            <span className="found">{one.title}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="quiet">Nothing is called that.</p>}
    </div>
  );
}
