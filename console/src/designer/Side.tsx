import type { Edit } from '../graph/edit';
import type { Flow } from '../graph/flow';
import type { Selection } from './DesignCanvas';
import { EdgePanel } from './EdgePanel';
import { FlowPanel } from './FlowPanel';
import { NodePanel } from './NodePanel';
import type { Found } from './useProblems';

interface Props {
  readonly flow: Flow;
  readonly edit: (edit: Edit) => void;
  readonly problems: readonly Found[];
  readonly selection: Selection;
  readonly select: (selection: Selection) => void;
  readonly renamed: (from: string, to: string) => void;
}

/** What is selected, with all that can be said of it. */
export function Side({ flow, edit, problems, selection, select, renamed }: Props) {
  const panel = () => {
    switch (selection.kind) {
      case 'none':
        return null;
      case 'flow':
        return (
          <FlowPanel flow={flow} edit={edit} problems={problems.filter(({ spot }) => spot.kind === 'flow')} />
        );
      case 'edge':
        return flow.edges[selection.index] ? (
          <EdgePanel
            key={selection.index}
            flow={flow}
            index={selection.index}
            problems={problems.filter(({ spot }) => spot.kind === 'edge' && spot.index === selection.index)}
            edit={edit}
            close={() => select({ kind: 'none' })}
          />
        ) : null;
      case 'node': {
        const node = flow.nodes.find(({ id }) => id === selection.id);
        return node ? (
          <NodePanel
            key={node.id}
            flow={flow}
            node={node}
            edit={edit}
            problems={problems.filter((each) => each.node === node.id)}
            renamed={(to) => renamed(node.id, to)}
            choose={(index) => select({ kind: 'edge', index })}
          />
        ) : null;
      }
    }
  };
  const shown = panel();
  return shown ? (
    <aside className="designer-side" aria-label="Properties">
      {shown}
    </aside>
  ) : null;
}
