import * as Tabs from '@radix-ui/react-tabs';
import { lazy, type ReactNode, Suspense, useContext, useEffect, useMemo, useState } from 'react';
import { iconOf } from '../canvas/NodeCard';
import { useNodeTypes } from '../canvas/useNodeTypes';
import type { Edit } from '../graph/edit';
import { type Flow, type FlowNode, hasUnreadConfig, isObject, nameOf, startOf } from '../graph/flow';
import { Icon } from '../ui/Icon';
import { EmailPreview } from './EmailPreview';
import { Editing, Marks } from './fields';
import { HttpPanel } from './HttpPanel';
import { ItemsPanel, OF_ITEMS, worksOnItems } from './ItemsPanel';
import { PanelProblems } from './PanelProblems';
import { RoutesPanel } from './RoutesPanel';
import { SchemaForm } from './SchemaForm';
import { StatementPanel } from './StatementPanel';
import type { Schema } from './schema';
import { useTyped } from './typed';
import type { Found } from './useProblems';
import { WaitPanel } from './WaitPanel';

const CodeEditor = lazy(() => import('./CodeEditor'));

interface Props {
  readonly flow: Flow;
  readonly node: FlowNode;
  readonly problems: readonly Found[];
  readonly edit: (edit: Edit) => void;
  readonly renamed: (id: string) => void;
  /** Go on with a way, by its place among the flow's. */
  readonly choose: (index: number) => void;
}

const OWN = /^\/nodes\/\d+(\/config|\/overrideConfig)?/;

export function NodePanel({ flow, node, problems, edit, renamed, choose }: Props) {
  const { byName } = useNodeTypes();
  const marks = useMemo(
    () => new Map(problems.map((each) => [each.pointer.replace(OWN, ''), each])),
    [problems],
  );
  const type = byName.get(node.type.toUpperCase());
  const configure = (config: FlowNode['config']) => edit({ kind: 'configure', id: node.id, config });
  return (
    <Marks value={marks}>
      <div className="node-panel">
        <header data-category={type?.category}>
          <span className="node-icon">
            <Icon name={iconOf(node.type)} />
          </span>
          <div>
            <h2 className="cut">{nameOf(node)}</h2>
            <p className="quiet cut">{type?.title ?? node.type}</p>
          </div>
        </header>
        <PanelProblems problems={problems} />
        <Tabs.Root defaultValue="config" className="panel-tabs">
          <Tabs.List className="tabs" aria-label="About this node">
            <Tabs.Trigger value="config">Config</Tabs.Trigger>
            <Tabs.Trigger value="errors">Retry &amp; errors</Tabs.Trigger>
            <Tabs.Trigger value="routes">Routes</Tabs.Trigger>
            <Tabs.Trigger value="notes">Notes</Tabs.Trigger>
            <Tabs.Trigger value="json">JSON</Tabs.Trigger>
          </Tabs.List>
          <Side name="config">
            <Names node={node} flow={flow} edit={edit} renamed={renamed} />
            {node.rest.nodeTemplateId !== undefined && (
              <p className="note">
                It follows the template <strong>{String(node.rest.nodeTemplateId)}</strong>. What is set here
                goes before what stands there.
              </p>
            )}
            {hasUnreadConfig(node.rest) && (
              <p className="note">
                What is written as its config cannot be read. It stays as it is until something is set here.
              </p>
            )}
            {type && (
              <Config
                key={node.id}
                name={type.name}
                schema={type.schema as Schema}
                value={node.config}
                change={configure}
              />
            )}
          </Side>
          <Side name="errors">
            <Settings flow={flow} node={node} edit={edit} />
          </Side>
          <Side name="routes">
            <RoutesPanel flow={flow} node={node} edit={edit} problems={problems} choose={choose} />
          </Side>
          <Side name="notes">
            <Notes node={node} edit={edit} />
          </Side>
          <Tabs.Content value="json" tabIndex={-1} className="json-tab">
            <NodeJson node={node} edit={edit} />
          </Tabs.Content>
        </Tabs.Root>
      </div>
    </Marks>
  );
}

/** One side of the panel: whoever may not change it looks at it. */
function Side({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Tabs.Content value={name} tabIndex={-1}>
      <fieldset className="bare" disabled={!useContext(Editing)}>
        {children}
      </fieldset>
    </Tabs.Content>
  );
}

interface ConfigProps {
  readonly name: string;
  readonly schema: Schema;
  readonly value: FlowNode['config'];
  readonly change: (config: FlowNode['config']) => void;
}

/** The config's form: what it does, and then for which items. */
function Config({ name, schema, value, change }: ConfigProps) {
  const items = worksOnItems(schema);
  const leaveOut = items ? OF_ITEMS : [];
  const given = { schema, value, change, leaveOut };
  const own = () => {
    switch (name.toUpperCase()) {
      case 'WAIT_EVENTS':
        return <WaitPanel schema={schema} value={value} change={change} />;
      case 'REST_SYNC':
        return <HttpPanel {...given} />;
      case 'QUERY':
        return <StatementPanel {...given} field="prebuiltKey" />;
      case 'ACTION':
        return <StatementPanel {...given} field="actionType" />;
      default:
        return <SchemaForm {...given} root={schema} />;
    }
  };
  return (
    <div className="stack">
      {own()}
      {items && <ItemsPanel schema={schema} value={value} change={change} />}
      {name === 'SEND_EMAIL' && <EmailPreview config={value} />}
    </div>
  );
}

function Names({ node, flow, edit, renamed }: Pick<Props, 'node' | 'flow' | 'edit' | 'renamed'>) {
  const [id, setId] = useState(node.id);
  useEffect(() => setId(node.id), [node.id]);
  const rename = () => {
    const to = id.trim();
    if (to === node.id) return;
    if (!to || flow.nodes.some((other) => other.id === to)) {
      setId(node.id);
      return;
    }
    edit({ kind: 'rename', id: node.id, to });
    renamed(to);
  };
  return (
    <div className="form names">
      <label className="field">
        <span>Name</span>
        <input
          className="input"
          value={typeof node.rest.name === 'string' ? node.rest.name : ''}
          placeholder={node.id}
          onChange={(event) => {
            const { name: _, ...rest } = node.rest;
            edit({
              kind: 'settle',
              id: node.id,
              rest: event.target.value ? { ...rest, name: event.target.value } : rest,
            });
          }}
        />
      </label>
      <label className="field">
        <span>Id</span>
        <input
          className="input mono"
          value={id}
          onChange={(event) => setId(event.target.value)}
          onBlur={rename}
          onKeyDown={(event) => event.key === 'Enter' && rename()}
        />
      </label>
    </div>
  );
}

/** What holds for a node of any type; in the words of the definition. */
const SETTINGS: Schema = {
  type: 'object',
  properties: {
    timeout: {
      type: ['string', 'number'],
      title: 'Timeout',
      description: 'How long an attempt, or a wait, may take.',
      examples: ['30s'],
    },
    retry: {
      type: 'object',
      title: 'Retry',
      properties: {
        maxAttempts: { type: 'integer', title: 'Attempts at most', examples: [5] },
        initialDelay: { type: ['string', 'number'], title: 'First delay', examples: ['1s'] },
        multiplier: { type: 'number', title: 'Times', examples: [2] },
        maxDelay: { type: ['string', 'number'], title: 'Longest delay', examples: ['1m'] },
      },
    },
    onError: {
      type: ['string', 'object'],
      title: 'When it fails',
      description: 'fail, continue, or {"goto": "node"}',
      examples: ['fail'],
    },
    maxVisits: { type: 'integer', title: 'Visits at most' },
    join: { enum: ['all', 'each', 'any'], title: 'Where several ways meet', default: 'all' },
    inDoubt: { enum: ['retry', 'ask'], title: 'When nobody knows whether it was done', default: 'retry' },
    dedupe: {
      type: 'object',
      title: 'Once for a key',
      properties: {
        key: { type: 'string', title: 'Key', examples: ['#{order.id}'] },
        ttl: { type: 'string', title: 'For', examples: ['30d'] },
      },
    },
    itemKey: { type: 'string', title: 'What names an item', examples: ['#{item.id}'] },
    isEndNode: { type: 'boolean', title: 'The end', description: 'Nothing follows it.', default: false },
  },
};

function Settings({ flow, node, edit }: Pick<Props, 'flow' | 'node' | 'edit'>) {
  const change = (now: FlowNode['rest']) => {
    const kept = Object.fromEntries(
      Object.entries(node.rest).filter(([name]) => !(name in (SETTINGS.properties ?? {}))),
    );
    edit({ kind: 'settle', id: node.id, rest: { ...kept, ...now } });
  };
  const mine = Object.fromEntries(
    Object.entries(node.rest).filter(([name]) => name in (SETTINGS.properties ?? {})),
  );
  return (
    <>
      <label className="inline">
        <input
          type="checkbox"
          className="choice"
          checked={startOf(flow) === node.id}
          onChange={() => edit({ kind: 'settle', id: node.id, rest: { ...node.rest, isStartNode: true } })}
        />
        The workflow starts here
      </label>
      <SchemaForm key={node.id} schema={SETTINGS} root={SETTINGS} value={mine} change={change} />
    </>
  );
}

function Notes({ node, edit }: Pick<Props, 'node' | 'edit'>) {
  const { notes, ...rest } = node.rest;
  return (
    <label className="field">
      <span>Notes</span>
      <textarea
        className="input"
        rows={12}
        maxLength={10_000}
        placeholder="Why it is as it is, whom to ask before it is changed …"
        value={typeof notes === 'string' ? notes : ''}
        onChange={(event) =>
          edit({
            kind: 'settle',
            id: node.id,
            rest: event.target.value ? { ...rest, notes: event.target.value } : rest,
          })
        }
      />
      <small>For people: saved with the workflow, and taken as they stand.</small>
    </label>
  );
}

function NodeJson({ node, edit }: Pick<Props, 'node' | 'edit'>) {
  const editable = useContext(Editing);
  const [text, type] = useTyped(node.config, (config) => JSON.stringify(config, null, 2));
  const read = configIn(text);
  const typed = (now: string) => {
    const config = configIn(now);
    type(now, typeof config === 'string' ? node.config : config);
    if (typeof config !== 'string') edit({ kind: 'configure', id: node.id, config });
  };
  return (
    <>
      <p className={typeof read === 'string' ? 'error-words' : 'quiet'}>
        {typeof read === 'string' ? `✕ ${read}` : 'The config of this node.'}
      </p>
      <Suspense fallback={null}>
        <CodeEditor label="Config as JSON" value={text} language="json" change={typed} editable={editable} />
      </Suspense>
    </>
  );
}

/** A config; or what is wrong with the text. */
function configIn(text: string): FlowNode['config'] | string {
  try {
    const config: unknown = JSON.parse(text);
    return isObject(config) ? config : 'A config is an object: { … }';
  } catch (error) {
    return (error as Error).message;
  }
}
