import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { ReactFlowProvider, useReactFlow } from '@xyflow/react';
import { useCallback, useEffect, useMemo, useReducer, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { api, got, type Schemas } from '../api/client';
import { useMay } from '../api/me';
import type { Edit } from '../graph/edit';
import { EMPTY, type Flow, isObject, type JsonObject } from '../graph/flow';
import type { Place } from '../graph/layout';
import { readFlow } from '../graph/read';
import { StartDialog } from '../pages/StartDialog';
import { Icon } from '../ui/Icon';
import { Skeleton } from '../ui/List';
import { Problem } from '../ui/Problem';
import { Status } from '../ui/Status';
import { say } from '../ui/toasts';
import { copied, pasted } from './clipboard';
import { DesignCanvas, type Selection } from './DesignCanvas';
import './designer.css';
import { Drawer } from './Drawer';
import { EdgePanel } from './EdgePanel';
import { Exchange } from './Exchange';
import { Sample } from './ExpressionInput';
import { EXAMPLE } from './examples';
import { FlowPanel } from './FlowPanel';
import { stepped } from './history';
import { NodePanel } from './NodePanel';
import { SaveDialog } from './SaveDialog';
import { TextTab } from './TextTab';
import { TypeDialog, TypePalette } from './TypePicker';
import { usePlaces } from './usePlaces';
import { useProblems } from './useProblems';
import { madeNode, useTemplates } from './useTemplates';

type Whole = Schemas['WorkflowWhole'];

export default function Designer({ id }: { id: string | null }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['workflow', id],
    queryFn: () => got(api.GET('/api/workflow/{id}', { params: { path: { id: id ?? '' } } })),
    enabled: id !== null,
    refetchOnWindowFocus: false,
    staleTime: 0,
    gcTime: 0,
  });
  if (id !== null && error && !data) return <Problem error={error} again={() => refetch()} />;
  if (id !== null && !data) return <Skeleton />;
  return (
    <ReactFlowProvider>
      <Design workflow={data ?? null} reload={() => void refetch()} />
    </ReactFlowProvider>
  );
}

function begun(workflow: Whole | null): Flow {
  if (workflow) return readFlow(workflow.definition)?.flow ?? EMPTY;
  return new URLSearchParams(location.search).has('example') ? EXAMPLE : EMPTY;
}

function Design({ workflow, reload }: { workflow: Whole | null; reload: () => void }) {
  const [history, step] = useReducer(stepped, workflow, (given) => ({
    past: [],
    present: begun(given),
    future: [],
  }));
  const flow = history.present;
  const [kept, keep] = useState(flow);
  const [seen, setSeen] = useState(workflow?.version ?? 0);
  const [selection, select] = useState<Selection>({ kind: 'none' });
  const [tab, setTab] = useState<'canvas' | 'text'>(() =>
    location.search.includes('tab=text') ? 'text' : 'canvas',
  );
  const [asking, ask] = useState<'type' | 'save' | 'run' | 'exchange' | null>(null);
  const [sample, setSample] = useState('{}');
  const [moved, move] = usePlaces(workflow?.key ?? 'new');
  const [, go] = useLocation();
  const { fitView } = useReactFlow();
  const mayEdit = useMay('editor');
  const mayRun = useMay('operator');
  const problems = useProblems(flow);
  const templates = useTemplates();
  const dirty = flow !== kept;
  const edit = useCallback((each: Edit) => step(each), []);
  const chosen =
    selection.kind === 'node' ? (flow.nodes.find((node) => node.id === selection.id) ?? null) : null;

  const add = (type: string, at?: Place) => {
    const node = madeNode(flow, type, templates);
    const after = at ? undefined : chosen;
    edit({ kind: 'add', nodes: [node], edges: after ? [{ from: after.id, to: node.id, type: 'goto' }] : [] });
    if (at) move(new Map([...moved, [node.id, at]]));
    else if (!after) move(new Map([...moved, [node.id, free(flow, moved)]]));
    select({ kind: 'node', id: node.id });
    if (!at) requestAnimationFrame(() => void fitView({ maxZoom: 1, padding: 0.08, duration: 150 }));
  };
  const jump = (node: string) => {
    setTab('canvas');
    select({ kind: 'node', id: node });
    requestAnimationFrame(() => void fitView({ nodes: [{ id: node }], maxZoom: 1, duration: 200 }));
  };
  const arrange = () => {
    move(new Map());
    requestAnimationFrame(() => void fitView({ maxZoom: 1, padding: 0.08, duration: 200 }));
  };
  const saved = (key: string, version: number) => {
    keep(flow);
    setSeen(version);
    if (workflow === null) go(`/workflows/${encodeURIComponent(key)}`, { replace: true });
    else reload();
  };
  useKeys({
    n: () => mayEdit && tab === 'canvas' && ask('type'),
    'mod+z': () => step({ kind: 'undo' }),
    'mod+shift+z': () => step({ kind: 'redo' }),
    'mod+y': () => step({ kind: 'redo' }),
    'mod+s': () => mayEdit && ask('save'),
    'mod+c': () => chosen && copied(flow, chosen.id),
    'mod+v': () => mayEdit && void pasted(flow).then((found) => found && edit(found)),
  });
  useLeaving(dirty);
  const context = useMemo(() => readSample(sample), [sample]);
  const errors = problems.all.filter((each) => each.level === 'error').length;
  return (
    <Sample.Provider value={context}>
      <div className="designer">
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
            {(['canvas', 'text'] as const).map((each) => (
              <button key={each} type="button" aria-pressed={tab === each} onClick={() => setTab(each)}>
                {each === 'canvas' ? 'Canvas' : 'Text'}
              </button>
            ))}
          </div>
          <div className="actions">
            <button
              type="button"
              className="icon-button"
              title="Undo"
              aria-label="Undo"
              disabled={!history.past.length}
              onClick={() => step({ kind: 'undo' })}
            >
              <Icon name="undo" />
            </button>
            <button
              type="button"
              className="icon-button"
              title="Redo"
              aria-label="Redo"
              disabled={!history.future.length}
              onClick={() => step({ kind: 'redo' })}
            >
              <Icon name="redo" />
            </button>
            <button
              type="button"
              className="icon-button"
              title="Arrange"
              aria-label="Arrange the nodes"
              onClick={arrange}
            >
              <Icon name="layout" />
            </button>
            <button
              type="button"
              className="icon-button"
              title="About the workflow"
              aria-label="About the workflow"
              aria-pressed={selection.kind === 'flow'}
              onClick={() => {
                setTab('canvas');
                select({ kind: selection.kind === 'flow' ? 'none' : 'flow' });
              }}
            >
              <Icon name="cog" />
            </button>
            <button
              type="button"
              className="icon-button"
              title="Import and export"
              aria-label="Import and export"
              onClick={() => ask('exchange')}
            >
              <Icon name="file" />
            </button>
            {workflow?.activeVersion && mayRun && (
              <button type="button" className="button" onClick={() => ask('run')}>
                Run
              </button>
            )}
            {mayEdit && workflow && (
              <Activate workflow={workflow} version={seen} dirty={dirty} done={reload} />
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
        <div className="designer-body">
          {tab === 'canvas' && mayEdit && <TypePalette add={add} templates={templates} />}
          <section className="designer-middle" aria-label={tab === 'canvas' ? 'Canvas' : 'Text'}>
            {tab === 'canvas' ? (
              <>
                <DesignCanvas
                  flow={flow}
                  edit={edit}
                  problems={problems.byNode}
                  moved={moved}
                  move={move}
                  selection={selection}
                  select={select}
                  drop={add}
                  editable={mayEdit}
                />
                {flow.nodes.length === 0 && (
                  <div className="canvas-hint">
                    <p>
                      Drag a type here, or press <kbd>n</kbd> and type its name.
                    </p>
                  </div>
                )}
              </>
            ) : (
              <TextTab flow={flow} edit={edit} />
            )}
            <Drawer
              flow={flow}
              problems={problems.all}
              jump={jump}
              chosen={chosen?.id ?? null}
              workflow={workflow}
              version={seen}
              dirty={dirty}
              sample={sample}
              setSample={setSample}
            />
          </section>
          {tab === 'canvas' && (chosen || selection.kind === 'edge' || selection.kind === 'flow') && (
            <aside className="designer-side" aria-label="Properties">
              {selection.kind === 'flow' && <FlowPanel flow={flow} edit={edit} />}
              {chosen && (
                <NodePanel
                  key={chosen.id}
                  flow={flow}
                  node={chosen}
                  edit={edit}
                  problems={problems.all.filter((each) => each.node === chosen.id)}
                  renamed={(to) => select({ kind: 'node', id: to })}
                />
              )}
              {selection.kind === 'edge' && (
                <EdgePanel
                  flow={flow}
                  index={selection.index}
                  edit={edit}
                  close={() => select({ kind: 'none' })}
                />
              )}
            </aside>
          )}
        </div>
        {asking === 'type' && <TypeDialog add={add} close={() => ask(null)} after={chosen?.id ?? null} />}
        {asking === 'save' && (
          <SaveDialog flow={flow} workflow={workflow} seen={seen} close={() => ask(null)} saved={saved} />
        )}
        {asking === 'exchange' && <Exchange flow={flow} edit={edit} close={() => ask(null)} />}
        {asking === 'run' && workflow && (
          <StartDialog
            workflow={workflow}
            close={() => ask(null)}
            started={(execution) => go(`/executions/${execution}`)}
          />
        )}
      </div>
    </Sample.Provider>
  );
}

function Activate({
  workflow,
  version,
  dirty,
  done,
}: {
  workflow: Whole;
  version: number;
  dirty: boolean;
  done: () => void;
}) {
  const queries = useQueryClient();
  const activating = useMutation({
    mutationFn: () =>
      got(
        api.POST('/api/workflow/{id}/activate', {
          params: { path: { id: workflow.id } },
          body: { version } as never,
        }),
      ),
    onSuccess: async () => {
      say(`New executions start on version ${version}`);
      done();
      await queries.invalidateQueries({ queryKey: ['workflows'] });
    },
    onError: (error) => say(error.message),
  });
  if (workflow.activeVersion === version && workflow.status === 'ACTIVE') return null;
  return (
    <button
      type="button"
      className="button"
      disabled={dirty || activating.isPending}
      onClick={() => activating.mutate()}
    >
      Activate version {version}
    </button>
  );
}

/** Where a node goes that follows nothing: below all that stands. */
function free(flow: Flow, moved: ReadonlyMap<string, Place>): Place {
  if (!flow.nodes.length) return { x: 0, y: 0 };
  const lowest = Math.max(0, ...[...moved.values()].map((place) => place.y));
  return { x: 0, y: lowest + 140 };
}

function readSample(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Keys that mean something wherever nobody is typing. */
function useKeys(keys: Record<string, () => unknown>): void {
  const known = useRef(keys);
  known.current = keys;
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const mod = event.metaKey || event.ctrlKey;
      const name = [mod && 'mod', mod && event.shiftKey && 'shift', event.key.toLowerCase()]
        .filter(Boolean)
        .join('+');
      const typing =
        event.target instanceof HTMLElement &&
        event.target.closest('input, textarea, select, [contenteditable], [role=dialog]');
      const act = known.current[name];
      if (!act || (typing && name !== 'mod+s') || (!mod && (event.altKey || event.repeat))) return;
      if (name === 'mod+c' && getSelection()?.toString()) return;
      event.preventDefault();
      act();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
}

/** Asks before a page goes that has changes in it. */
function useLeaving(dirty: boolean): void {
  useEffect(() => {
    if (!dirty) return undefined;
    const leaving = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', leaving);
    return () => removeEventListener('beforeunload', leaving);
  }, [dirty]);
}
