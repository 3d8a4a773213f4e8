import { useQuery } from '@tanstack/react-query';
import { ReactFlowProvider, useReactFlow } from '@xyflow/react';
import { useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import { api, got } from '../api/client';
import { useMay } from '../api/me';
import { type Flow, isObject, type JsonObject } from '../graph/flow';
import type { Place } from '../graph/layout';
import { StartDialog } from '../pages/StartDialog';
import { Skeleton } from '../ui/List';
import { Problem } from '../ui/Problem';
import { useWide } from '../ui/useWide';
import { copied, pasted } from './clipboard';
import { DesignCanvas, type Selection } from './DesignCanvas';
import { type Asked, DesignHead, type View } from './DesignHead';
import './designer.css';
import { Drawer } from './Drawer';
import { Exchange } from './Exchange';
import { Sample } from './ExpressionInput';
import { Editing } from './fields';
import { SaveDialog } from './SaveDialog';
import { Side } from './Side';
import { TextTab, type Typed } from './TextTab';
import { TypeDialog, TypePalette } from './TypePicker';
import { useDesign, type Whole } from './useDesign';
import { useKeys } from './useKeys';
import type { Places } from './usePlaces';
import { type Found, useProblems } from './useProblems';
import { useSentences } from './useSentences';
import { madeNode, useTemplates } from './useTemplates';

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
      <Desk workflow={data ?? null} reload={() => void refetch()} />
    </ReactFlowProvider>
  );
}

function Desk({ workflow, reload }: { workflow: Whole | null; reload: () => void }) {
  const mayEdit = useMay('editor');
  const design = useDesign(workflow, mayEdit);
  const { flow, edit, step, places, move, seen, dirty } = design;
  const [selection, select] = useState<Selection>({ kind: 'none' });
  const [view, show] = useView();
  const [asking, ask] = useState<Asked | null>(null);
  const [sample, setSample] = useState('{}');
  const [language, speak] = useState<'json' | 'yaml'>('json');
  const [typed, type] = useState<Typed | null>(null);
  const [pointer, point] = useState<{ readonly to: string } | null>(null);
  const [, go] = useLocation();
  const { fitView } = useReactFlow();
  const problems = useProblems(flow);
  const sentences = useSentences(flow, problems.sound);
  const templates = useTemplates();
  const context = useMemo(() => readSample(sample), [sample]);
  const chosen = selection.kind === 'node' ? selection.id : null;
  const close = () => ask(null);
  const look = (nodes?: readonly string[]) =>
    requestAnimationFrame(
      () =>
        void fitView({
          maxZoom: 1,
          padding: 0.08,
          duration: 150,
          ...(nodes ? { nodes: nodes.map((id) => ({ id })) } : {}),
        }),
    );

  const add = (what: string, at?: Place) => {
    const node = madeNode(flow, what, templates);
    const after = at ? undefined : flow.nodes.find(({ id }) => id === chosen);
    edit({ kind: 'add', nodes: [node], edges: after ? [{ from: after.id, to: node.id, type: 'goto' }] : [] });
    if (at) move(new Map([...places, [node.id, at]]));
    else if (!after) move(new Map([...places, [node.id, free(flow, places)]]));
    select({ kind: 'node', id: node.id });
    if (!at) look();
  };
  const jump = ({ spot, pointer: to }: Found) => {
    if (spot.kind === 'text') {
      if (view === 'canvas') show('text');
      point({ to });
      return;
    }
    if (view === 'text') show('canvas');
    select(spot);
    if (spot.kind === 'node') look([spot.id]);
    const edge = spot.kind === 'edge' ? flow.edges[spot.index] : undefined;
    if (edge) look([edge.from, edge.to]);
  };
  const saved = (key: string, version: number) => {
    design.saved(key, version);
    if (workflow === null) go(`/workflows/${encodeURIComponent(key)}`, { replace: true });
    else reload();
  };
  useKeys({
    n: () => mayEdit && view !== 'text' && ask('type'),
    'mod+z': () => step({ kind: 'undo' }),
    'mod+shift+z': () => step({ kind: 'redo' }),
    'mod+y': () => step({ kind: 'redo' }),
    'mod+s': () => mayEdit && ask('save'),
    'mod+c': () => chosen && copied(flow, chosen),
    'mod+v': () => mayEdit && void pasted(flow).then((found) => found && edit(found)),
  });
  const text = (
    <TextTab
      flow={flow}
      edit={edit}
      language={language}
      speak={speak}
      typed={typed}
      type={type}
      pointer={pointer}
    />
  );
  return (
    <Sample value={context}>
      <Editing value={mayEdit}>
        <div className="designer">
          <DesignHead
            design={design}
            workflow={workflow}
            errors={problems.all.filter((each) => each.level === 'error').length}
            view={view}
            show={show}
            ask={ask}
            arrange={() => {
              move(new Map());
              look();
            }}
            about={selection.kind === 'flow'}
            toggleAbout={() => {
              if (view === 'text') show('canvas');
              select({ kind: selection.kind === 'flow' ? 'none' : 'flow' });
            }}
            reload={reload}
          />
          <div className={`designer-body ${view}`}>
            {view !== 'text' && mayEdit && <TypePalette add={add} templates={templates} />}
            <section className="designer-middle" aria-label={view === 'text' ? 'Text' : 'Canvas'}>
              <div className="designer-views">
                {view !== 'text' && (
                  <div className="designer-canvas">
                    {view === 'canvas' && typed?.wrong && (
                      <Apart wrong={typed.wrong} show={() => show('text')} drop={() => type(null)} />
                    )}
                    <DesignCanvas
                      flow={flow}
                      edit={edit}
                      problems={problems.byNode}
                      sentences={sentences}
                      moved={places}
                      move={move}
                      selection={selection}
                      select={select}
                      drop={add}
                      editable={mayEdit}
                    />
                    {flow.nodes.length === 0 && <Hint />}
                  </div>
                )}
                {view !== 'canvas' && text}
              </div>
              <Drawer
                flow={flow}
                problems={problems.all}
                jump={jump}
                chosen={chosen}
                workflow={workflow}
                version={seen}
                dirty={dirty}
                sample={sample}
                setSample={setSample}
              />
            </section>
            {view !== 'text' && (
              <Side
                flow={flow}
                edit={edit}
                problems={problems.all}
                selection={selection}
                select={select}
                renamed={(from, to) => {
                  select({ kind: 'node', id: to });
                  move(new Map([...places].map(([id, place]) => [id === from ? to : id, place])));
                }}
              />
            )}
          </div>
          {asking === 'type' && <TypeDialog add={add} close={close} after={chosen} />}
          {asking === 'save' && (
            <SaveDialog
              flow={flow}
              workflow={workflow}
              seen={seen}
              apart={typed?.wrong != null}
              close={close}
              saved={saved}
            />
          )}
          {asking === 'exchange' && <Exchange flow={flow} edit={edit} close={close} />}
          {asking === 'run' && workflow && (
            <StartDialog
              workflow={workflow}
              close={close}
              started={(execution) => go(`/executions/${execution}`)}
            />
          )}
        </div>
      </Editing>
    </Sample>
  );
}

/** The drawing first; whoever comes to paste a text sees it drawn beside it, where there is room. */
function useView(): [View, (view: View) => void] {
  const wide = useWide();
  const [view, show] = useState<View>(() =>
    location.search.includes('tab=text') ? (wide ? 'both' : 'text') : 'canvas',
  );
  return [view === 'both' && !wide ? 'text' : view, show];
}

/** What is typed and what is drawn are not the same at this moment. */
function Apart({ wrong, show, drop }: { wrong: string; show: () => void; drop: () => void }) {
  return (
    <p className="apart" role="status">
      <span className="error-words">✕ The text cannot be read: {wrong}</span> It is kept as you typed it;
      drawn is what could be read last.{' '}
      <button type="button" className="link" onClick={show}>
        Show the text
      </button>{' '}
      <button type="button" className="link" onClick={drop}>
        Throw it away
      </button>
    </p>
  );
}

function Hint() {
  return (
    <div className="canvas-hint">
      <p className="with-mouse">
        Drag a type here, or press <kbd>n</kbd> and type its name.
      </p>
      <p className="with-finger">Tap a type below: each follows the one before.</p>
    </div>
  );
}

/** Where a node goes that follows nothing: below all that stands. */
function free(flow: Flow, places: Places): Place {
  if (!flow.nodes.length) return { x: 0, y: 0 };
  const lowest = Math.max(0, ...[...places.values()].map((place) => place.y));
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
