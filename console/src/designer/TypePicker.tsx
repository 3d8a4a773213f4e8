import { useMemo, useState } from 'react';
import { iconOf } from '../canvas/NodeCard';
import { type NodeType, useNodeTypes } from '../canvas/useNodeTypes';
import { Dialog } from '../ui/Dialog';
import { Icon } from '../ui/Icon';
import { type Offer, Picker } from '../ui/Picker';
import { DRAGGED } from './DesignCanvas';
import { type Template, templated } from './useTemplates';

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

interface PaletteProps {
  readonly add: (what: string) => void;
  readonly templates: readonly Template[];
}

/** The palette at the left: searched, dragged from, or clicked. */
export function TypePalette({ add, templates }: PaletteProps) {
  const { all } = useNodeTypes();
  const [text, type] = useState('');
  const groups = useMemo(() => grouped(all, text), [all, text]);
  const fitting = templates.filter((each) =>
    `${each.name} ${each.id}`.toLowerCase().includes(text.trim().toLowerCase()),
  );
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
              <Draggable
                key={each.name}
                what={each.name}
                title={each.title}
                says={each.description}
                icon={each.name}
                add={add}
              />
            ))}
          </section>
        ))}
        {fitting.length > 0 && (
          <section data-category="Templates" aria-label="Templates">
            <h3>Templates</h3>
            {fitting.map((each) => (
              <Draggable
                key={each.id}
                what={templated(each)}
                title={each.name}
                says={`${each.nodeType}, as the template ${each.id} says`}
                icon={each.nodeType}
                add={add}
              />
            ))}
          </section>
        )}
        {groups.length + fitting.length === 0 && <p className="quiet">No type is called that.</p>}
      </div>
    </aside>
  );
}

interface DraggableProps {
  readonly what: string;
  readonly title: string;
  readonly says: string;
  readonly icon: string;
  readonly add: (what: string) => void;
}

function Draggable({ what, title, says, icon, add }: DraggableProps) {
  return (
    <button
      type="button"
      className="type"
      draggable
      title={says}
      onDragStart={(event) => {
        event.dataTransfer.setData(DRAGGED, what);
        event.dataTransfer.effectAllowed = 'copy';
      }}
      onClick={() => add(what)}
    >
      <span className="node-icon">
        <Icon name={iconOf(icon)} />
      </span>
      {title}
    </button>
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
