import { useMay } from '../api/me';
import { Status } from '../ui/Status';
import { useWide } from '../ui/useWide';
import { Activate } from './Activate';
import { Tools } from './Tools';
import type { Design, Whole } from './useDesign';

/** What is shown: the drawing, the text, or both beside one another. */
export type View = 'canvas' | 'both' | 'text';

export type Asked = 'type' | 'save' | 'run' | 'exchange';

const VIEWS: readonly (readonly [View, string])[] = [
  ['canvas', 'Canvas'],
  ['both', 'Both'],
  ['text', 'Text'],
];

interface Props {
  readonly design: Design;
  readonly workflow: Whole | null;
  readonly errors: number;
  readonly view: View;
  readonly show: (view: View) => void;
  readonly ask: (what: Asked) => void;
  readonly arrange: () => void;
  readonly about: boolean;
  readonly toggleAbout: () => void;
  readonly reload: () => void;
}

/** Above the drawing: what it is called, how it is shown, and what can be done with it. */
export function DesignHead(props: Props) {
  const { design, workflow, errors, view, show, ask } = props;
  const { flow, history, edit, step, dirty, seen } = design;
  const mayEdit = useMay('editor');
  const mayRun = useMay('operator');
  const wide = useWide();
  return (
    <header className="designer-head">
      <input
        className="input title"
        aria-label="Name of the workflow"
        value={String(flow.head.name ?? '')}
        readOnly={!mayEdit}
        onChange={(event) => edit({ kind: 'head', head: { ...flow.head, name: event.target.value } })}
      />
      {workflow && <Status of={workflow.status} />}
      <span className="quiet version-words">
        {workflow
          ? `version ${seen}${workflow.activeVersion ? `, active ${workflow.activeVersion}` : ''}`
          : 'not saved yet'}
        {dirty && ' · changed'}
      </span>
      <div className="segments" role="group" aria-label="Show as">
        {VIEWS.filter(([each]) => wide || each !== 'both').map(([each, title]) => (
          <button key={each} type="button" aria-pressed={view === each} onClick={() => show(each)}>
            {title}
          </button>
        ))}
      </div>
      <div className="actions">
        <Tools
          tools={[
            { icon: 'undo', title: 'Undo', act: () => step({ kind: 'undo' }), off: !history.past.length },
            { icon: 'redo', title: 'Redo', act: () => step({ kind: 'redo' }), off: !history.future.length },
            { icon: 'layout', title: 'Arrange', name: 'Arrange the nodes', act: props.arrange },
            { icon: 'cog', title: 'About the workflow', act: props.toggleAbout, pressed: props.about },
            { icon: 'file', title: 'Import and export', act: () => ask('exchange') },
          ]}
        />
        {workflow?.activeVersion && mayRun && (
          <button type="button" className="button" onClick={() => ask('run')}>
            Run
          </button>
        )}
        {mayEdit && workflow && (
          <Activate workflow={workflow} version={seen} dirty={dirty} done={props.reload} />
        )}
        {mayEdit && (
          <button
            type="button"
            className="button primary"
            disabled={!flow.nodes.length || (!dirty && workflow !== null)}
            onClick={() => ask('save')}
            title={errors ? `${errors} errors keep it from being saved` : 'Save as a version'}
          >
            Save
          </button>
        )}
      </div>
    </header>
  );
}
