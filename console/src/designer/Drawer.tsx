import * as Tabs from '@radix-ui/react-tabs';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { api, got, type Schemas } from '../api/client';
import { useMay } from '../api/me';
import { useLive } from '../api/useLive';
import { type Flow, nameOf } from '../graph/flow';
import { objectOf } from '../pages/StartDialog';
import { JsonTree } from '../ui/JsonTree';
import { Problem } from '../ui/Problem';
import { Status } from '../ui/Status';
import { Took } from '../ui/Time';
import { Worded } from '../ui/Worded';
import { Compare } from './Compare';
import { OrderTable } from './OrderTable';
import type { Found } from './useProblems';

type Whole = Schemas['WorkflowWhole'];

interface Props {
  readonly flow: Flow;
  readonly problems: readonly Found[];
  readonly jump: (problem: Found) => void;
  /** The node that is selected. */
  readonly chosen: string | null;
  readonly workflow: Whole | null;
  readonly version: number;
  readonly dirty: boolean;
  readonly sample: string;
  readonly setSample: (text: string) => void;
}

/** Under the canvas: what is wrong, a try, and what would change. */
export function Drawer(props: Props) {
  const [open, setOpen] = useState('');
  const errors = props.problems.filter((each) => each.level === 'error').length;
  const waits = props.flow.nodes.filter((node) => node.type.toUpperCase() === 'WAIT_EVENTS');
  const toggle = (tab: string) => setOpen(open === tab ? '' : tab);
  return (
    <Tabs.Root
      className={open ? 'drawer open' : 'drawer'}
      value={open}
      onValueChange={setOpen}
      activationMode="manual"
    >
      <Tabs.List className="tabs" aria-label="Below the canvas">
        <Tabs.Trigger value="problems" onClick={() => open === 'problems' && toggle('problems')}>
          Problems{' '}
          <span className={errors ? 'count bad' : props.problems.length ? 'count warn' : 'count good'}>
            {props.problems.length}
          </span>
        </Tabs.Trigger>
        <Tabs.Trigger value="run" onClick={() => open === 'run' && toggle('run')}>
          Test run
        </Tabs.Trigger>
        {waits.length > 0 && (
          <Tabs.Trigger value="orders" onClick={() => open === 'orders' && toggle('orders')}>
            Order table
          </Tabs.Trigger>
        )}
        {props.workflow && (
          <Tabs.Trigger value="diff" onClick={() => open === 'diff' && toggle('diff')}>
            Diff
          </Tabs.Trigger>
        )}
      </Tabs.List>
      {open && (
        <button
          type="button"
          className="icon-button drawer-close"
          aria-label="Close the drawer"
          onClick={() => setOpen('')}
        >
          ✕
        </button>
      )}
      <Tabs.Content value="problems" tabIndex={-1}>
        <Problems {...props} />
      </Tabs.Content>
      <Tabs.Content value="run" tabIndex={-1}>
        <TestRun {...props} />
      </Tabs.Content>
      {waits.length > 0 && (
        <Tabs.Content value="orders" tabIndex={-1}>
          {waits.map((node) => (
            <details key={node.id} open={waits.length === 1 || node.id === props.chosen}>
              <summary>{nameOf(node)}</summary>
              <OrderTable config={node.config} />
            </details>
          ))}
        </Tabs.Content>
      )}
      {props.workflow && (
        <Tabs.Content value="diff" tabIndex={-1}>
          <Compare workflow={props.workflow} flow={props.flow} />
        </Tabs.Content>
      )}
    </Tabs.Root>
  );
}

/** What a problem is about, in a word. */
function placeOf(flow: Flow, { spot, pointer }: Found): string {
  if (spot.kind === 'node') return spot.id;
  if (spot.kind === 'flow') return 'the workflow';
  const edge = spot.kind === 'edge' ? flow.edges[spot.index] : undefined;
  return edge ? `${edge.from} → ${edge.to}` : pointer;
}

function Problems({ flow, problems, jump }: Props) {
  if (!problems.length) return <p className="quiet">Nothing is wrong with it.</p>;
  return (
    <ul className="problems">
      {problems.map((each) => (
        <li key={each.pointer + each.code + each.message}>
          <span className={each.level === 'error' ? 'status bad' : 'status warn'}>
            {each.level === 'error' ? '✕ error' : '▲ warning'}
          </span>
          <button type="button" className="link" onClick={() => jump(each)}>
            {placeOf(flow, each)}
          </button>
          <span>
            <Worded text={each.message} />{' '}
            {each.suggestion && (
              <em>
                <Worded text={each.suggestion} />
              </em>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

function TestRun({ workflow, version, dirty, sample, setSample }: Props) {
  const mayOperate = useMay('operator');
  const running = useMutation({
    mutationFn: async () => {
      const body = { workflowId: workflow?.id, version, context: objectOf(sample), tags: ['test'] };
      return got(api.POST('/api/workflow/execute', { body, params: { query: {} } }));
    },
  });
  return (
    <div className="test-run">
      <div className="stack">
        <label className="field">
          <span>Sample context</span>
          <textarea
            className="input"
            rows={6}
            spellCheck={false}
            value={sample}
            onChange={(event) => setSample(event.target.value)}
          />
          <small>Expressions show their value for it while you type; a test run starts with it.</small>
        </label>
        <button
          type="button"
          className="button primary"
          disabled={!workflow || dirty || !mayOperate || running.isPending}
          onClick={() => running.mutate()}
        >
          Run version {version || '…'}
        </button>
        {(!workflow || dirty) && (
          <small>Save it first: only what is saved can run, and it need not be active.</small>
        )}
        {running.error && <Problem error={running.error} />}
      </div>
      {running.data && <Result id={running.data.executionId} />}
    </div>
  );
}

function Result({ id }: { id: string }) {
  const { data, refetch } = useQuery({
    queryKey: ['execution', id],
    queryFn: () => got(api.GET('/api/workflow/executions/{id}', { params: { path: { id } } })),
  });
  useLive(`/api/workflow/executions/${id}/events`, () => void refetch());
  if (!data) return null;
  return (
    <div className="stack">
      <p className="inline">
        <Status of={data.status} /> <Took from={data.startedAt} to={data.completedAt} />
        <Link href={`/executions/${id}`}>Watch it on the canvas</Link>
      </p>
      {data.error && <p className="error-words">{data.error.message}</p>}
      {data.output !== null && <JsonTree name="output" value={data.output} open={1} />}
    </div>
  );
}
