import { useMemo, useState } from 'react';
import { iconOf } from '../canvas/NodeCard';
import { type NodeType, useNodeTypes } from '../canvas/useNodeTypes';
import { Dialog } from '../ui/Dialog';
import { Icon } from '../ui/Icon';
import { DRAGGED } from './DesignCanvas';

const ORDER = ['Start', 'Logic', 'Integration', 'People', 'Data'];

export function grouped(types: readonly NodeType[], text: string): [string, NodeType[]][] {
  const wanted = text.trim().toLowerCase();
  const fits = (type: NodeType) =>
    `${type.title} ${type.name} ${type.description}`.toLowerCase().includes(wanted);
  const found = types.filter(fits);
  const categories = [...new Set(found.map((type) => type.category))];
  categories.sort((one, other) => place(one) - place(other));
  return categories.map((category) => [category, found.filter((type) => type.category === category)]);
}

function place(category: string): number {
  const at = ORDER.indexOf(category);
  return at < 0 ? ORDER.length : at;
}

/** The palette at the left: searched, dragged from, or clicked. */
export function TypePalette({ add }: { add: (type: string) => void }) {
  const { all } = useNodeTypes();
  const [text, type] = useState('');
  const groups = useMemo(() => grouped(all, text), [all, text]);
  return (
    <aside className="type-palette" aria-label="Node types">
      <input
        type="search"
        className="input"
        aria-label="Search node types"
        placeholder="Search types"
        value={text}
        onChange={(event) => type(event.target.value)}
      />
      <div className="types">
        {groups.map(([category, types]) => (
          <section key={category} data-category={category}>
            <h3>{category}</h3>
            {types.map((each) => (
              <button
                key={each.name}
                type="button"
                className="type"
                draggable
                title={each.description}
                onDragStart={(event) => {
                  event.dataTransfer.setData(DRAGGED, each.name);
                  event.dataTransfer.effectAllowed = 'copy';
                }}
                onClick={() => add(each.name)}
              >
                <span className="node-icon">
                  <Icon name={iconOf(each.name)} />
                </span>
                {each.title}
              </button>
            ))}
          </section>
        ))}
        {groups.length === 0 && <p className="quiet">No type is called that.</p>}
      </div>
    </aside>
  );
}

/** `n`: type a few letters, press Enter. */
export function TypeDialog({
  add,
  close,
  after,
}: {
  add: (type: string) => void;
  close: () => void;
  after: string | null;
}) {
  const { all } = useNodeTypes();
  const [text, type] = useState('');
  const [at, move] = useState(0);
  const found = useMemo(() => grouped(all, text).flatMap(([, types]) => types), [all, text]);
  const take = (one: NodeType | undefined) => {
    if (!one) return;
    close();
    add(one.name);
  };
  const pressed = (event: React.KeyboardEvent) => {
    if (event.key === 'ArrowDown') move(Math.min(at + 1, found.length - 1));
    else if (event.key === 'ArrowUp') move(Math.max(at - 1, 0));
    else if (event.key === 'Enter') take(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog open close={close} title={after ? `Add a node after ${after}` : 'Add a node'}>
      <div className="palette">
        <input
          className="input large"
          role="combobox"
          aria-label="Type of node"
          aria-expanded="true"
          aria-controls="types-found"
          aria-activedescendant={found[at] ? `type-${at}` : undefined}
          placeholder="Type of node"
          value={text}
          onChange={(event) => {
            type(event.target.value);
            move(0);
          }}
          onKeyDown={pressed}
        />
        <div id="types-found" role="listbox" aria-label="Types">
          {found.map((each, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the input above has the keyboard
            <div
              key={each.name}
              id={`type-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === at}
              onClick={() => take(each)}
              onMouseMove={() => move(index)}
            >
              <span className="kind">{each.category}</span>
              <span className="found">
                {each.title} <span className="quiet">{each.description}</span>
              </span>
            </div>
          ))}
        </div>
      </div>
    </Dialog>
  );
}
