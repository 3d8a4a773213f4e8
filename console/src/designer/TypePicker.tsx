import { useMemo, useState } from 'react';
import { iconOf } from '../canvas/NodeCard';
import { type NodeType, useNodeTypes } from '../canvas/useNodeTypes';
import { Dialog } from '../ui/Dialog';
import { Icon } from '../ui/Icon';
import { type Offer, Picker } from '../ui/Picker';
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
  const found = useMemo(() => grouped(all, text).flatMap(([, types]) => types.map(offered)), [all, text]);
  return (
    <Dialog open close={close} title={after ? `Add a node after ${after}` : 'Add a node'}>
      <Picker
        label="Type of node"
        text={text}
        type={type}
        found={found}
        take={(one) => {
          close();
          add(one.key);
        }}
      />
    </Dialog>
  );
}

function offered(type: NodeType): Offer {
  const title = (
    <>
      {type.title} <span className="quiet">{type.description}</span>
    </>
  );
  return { key: type.name, kind: type.category, title };
}
