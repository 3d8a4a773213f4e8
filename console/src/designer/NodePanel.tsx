import * as Tabs from '@radix-ui/react-tabs';
import { lazy, Suspense, useEffect, useState } from 'react';
import { iconOf } from '../canvas/NodeCard';
import { useNodeTypes } from '../canvas/useNodeTypes';
import type { Edit } from '../graph/edit';
import { type Flow, type FlowNode, isObject, nameOf, startOf } from '../graph/flow';
import { Icon } from '../ui/Icon';
import { EmailPreview } from './EmailPreview';
import { SchemaForm } from './SchemaForm';
import type { Schema } from './schema';
import type { Found } from './useProblems';
import { WaitPanel } from './WaitPanel';

const CodeEditor = lazy(() => import('./CodeEditor'));

interface Props {
  readonly flow: Flow;
  readonly node: FlowNode;
  readonly problems: readonly Found[];
  readonly edit: (edit: Edit) => void;
  readonly renamed: (id: string) => void;
  readonly connect: (to: string) => void;
}

export function NodePanel({ flow, node, problems, edit, renamed, connect }: Props) {
  const { byName } = useNodeTypes();
  const type = byName.get(node.type.toUpperCase());
  const configure = (config: FlowNode['config']) => edit({ kind: 'configure', id: node.id, config });
  return (
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
      {problems.length > 0 && (
        <ul className="panel-problems">
          {problems.map((each) => (
            <li
              key={each.pointer + each.code + each.message}
              className={each.level === 'error' ? 'error-words' : 'warn-words'}
            >
              {each.level === 'error' ? '✕' : '▲'} {each.message} {each.suggestion}
            </li>
          ))}
        </ul>
      )}
      <Tabs.Root defaultValue="config" className="panel-tabs">
        <Tabs.List className="tabs" aria-label="About this node">
          <Tabs.Trigger value="config">Config</Tabs.Trigger>
          <Tabs.Trigger value="errors">Retry &amp; errors</Tabs.Trigger>
          <Tabs.Trigger value="routes">Routes</Tabs.Trigger>
          <Tabs.Trigger value="notes">Notes</Tabs.Trigger>
          <Tabs.Trigger value="json">JSON</Tabs.Trigger>
        </Tabs.List>
        <Tabs.Content value="config" tabIndex={-1}>
          <Names node={node} flow={flow} edit={edit} renamed={renamed} />
          {node.rest.nodeTemplateId !== undefined && (
            <p className="note">
              It follows the template <strong>{String(node.rest.nodeTemplateId)}</strong>. What is set here
              goes before what stands there.
            </p>
          )}
          {type && type.name.toUpperCase() === 'WAIT_EVENTS' ? (
            <WaitPanel schema={type.schema as Schema} value={node.config} change={configure} />
          ) : (
            type && (
              <SchemaForm
                key={node.id}
                schema={type.schema as Schema}
                root={type.schema as Schema}
                value={node.config}
                change={configure}
              />
            )
          )}
          {type?.name === 'SEND_EMAIL' && <EmailPreview config={node.config} />}
        </Tabs.Content>
        <Tabs.Content value="errors" tabIndex={-1}>
          <Settings flow={flow} node={node} edit={edit} />
        </Tabs.Content>
        <Tabs.Content value="routes" tabIndex={-1}>
          <Routes flow={flow} node={node} edit={edit} connect={connect} />
        </Tabs.Content>
        <Tabs.Content value="notes" tabIndex={-1}>
          <Notes node={node} edit={edit} />
        </Tabs.Content>
        <Tabs.Content value="json" tabIndex={-1} className="json-tab">
          <NodeJson key={node.id} node={node} edit={edit} />
        </Tabs.Content>
      </Tabs.Root>
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

/** Where it leads, for the keyboard: every way can be made and unmade here. */
function Routes({ flow, node, edit, connect }: Pick<Props, 'flow' | 'node' | 'edit' | 'connect'>) {
  const [to, setTo] = useState('');
  const ways = flow.edges.map((edge, index) => ({ edge, index })).filter(({ edge }) => edge.from === node.id);
  const others = flow.nodes.filter((other) => other.id !== node.id);
  return (
    <div className="stack">
      {ways.length === 0 && <p className="quiet">Nothing follows it.</p>}
      {ways.map(({ edge, index }) => (
        <div key={`${edge.to} ${edge.type} ${String(edge.value)}`} className="inline way">
          <span className="tag">{edge.type}</span>
          <strong>{edge.to}</strong>
          {edge.type === 'conditional' && (
            <input
              className="input mono"
              aria-label="Condition"
              value={edge.condition ?? ''}
              onChange={(event) =>
                edit({ kind: 'edge', index, edge: { ...edge, condition: event.target.value } })
              }
            />
          )}
          <button
            type="button"
            className="button small"
            onClick={() => edit({ kind: 'remove', nodes: new Set(), edges: new Set([index]) })}
          >
            Remove
          </button>
        </div>
      ))}
      {others.length > 0 && (
        <div className="inline">
          <select
            className="input"
            aria-label="Lead to"
            value={to}
            onChange={(event) => setTo(event.target.value)}
          >
            <option value="">Lead to…</option>
            {others.map((other) => (
              <option key={other.id} value={other.id}>
                {nameOf(other)}
              </option>
            ))}
          </select>
          <button type="button" className="button" disabled={!to} onClick={() => connect(to)}>
            Connect
          </button>
        </div>
      )}
    </div>
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
  const [text, setText] = useState(() => JSON.stringify(node.config, null, 2));
  const [wrong, setWrong] = useState<string | null>(null);
  const typed = (now: string) => {
    setText(now);
    try {
      const config: unknown = JSON.parse(now);
      if (!isObject(config)) throw new Error('A config is an object: { … }');
      setWrong(null);
      edit({ kind: 'configure', id: node.id, config });
    } catch (error) {
      setWrong((error as Error).message);
    }
  };
  return (
    <>
      <p className={wrong ? 'error-words' : 'quiet'}>{wrong ? `✕ ${wrong}` : 'The config of this node.'}</p>
      <Suspense fallback={null}>
        <CodeEditor label="Config as JSON" value={text} language="json" change={typed} />
      </Suspense>
    </>
  );
}
