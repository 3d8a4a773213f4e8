import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, got, type Schemas } from '../api/client';
import { useMay } from '../api/me';
import { Reasoned } from '../ui/Reasoned';
import { say } from '../ui/toasts';
import { AS_IT_WAS, RetryFields, told } from './RetryFields';

type Whole = Schemas['ExecutionWhole'];
type Action = Schemas['OnExecutions'];

const WHAT: Record<Action, string> = {
  pause: 'What runs is finished, and nothing new begins until it is resumed.',
  resume: 'It goes on where it was paused.',
  cancel: 'It ends. What was done stays done, unless it is undone below.',
  retry: 'It goes on where it failed; what was done before is not done again.',
  dismiss: 'It stays failed, and its dead letter is dealt with. It can still be retried.',
  replay: 'A new execution starts with what this one was given.',
};

function allowed({ status, held }: Whole): readonly Action[] {
  if (held) return ['resume', 'cancel', 'replay'];
  switch (status) {
    case 'FAILED':
      return ['retry', 'replay', 'dismiss'];
    case 'CANCELLED':
      return ['retry', 'replay'];
    case 'COMPLETED':
      return ['replay'];
    case 'PAUSED':
      return ['resume', 'cancel', 'replay'];
    default:
      return ['pause', 'cancel', 'replay'];
  }
}

export function ExecutionActions({
  execution,
  replayed,
}: {
  execution: Whole;
  replayed: (id: string) => void;
}) {
  const [action, act] = useState<Action | null>(null);
  const mayOperate = useMay('operator');
  if (!mayOperate) return null;
  return (
    <>
      {allowed(execution).map((each) => (
        <button
          key={each}
          type="button"
          className={each === 'retry' || each === 'resume' ? 'button small primary' : 'button small'}
          onClick={() => act(each)}
        >
          {each[0]?.toUpperCase()}
          {each.slice(1)}
        </button>
      ))}
      {action && <Acting execution={execution} action={action} close={() => act(null)} replayed={replayed} />}
    </>
  );
}

interface Props {
  readonly execution: Whole;
  readonly action: Action;
  readonly close: () => void;
  readonly replayed: (id: string) => void;
}

function Acting({ execution, action, close, replayed }: Props) {
  const queries = useQueryClient();
  const [compensate, setCompensate] = useState(false);
  const [again, setAgain] = useState(AS_IT_WAS);
  const perform = async (reason: string) => {
    const params = { path: { id: execution.id } };
    if (action === 'pause')
      await got(api.POST('/api/workflow/executions/{id}/pause', { params, body: { reason } }));
    else if (action === 'resume')
      await got(api.POST('/api/workflow/executions/{id}/resume', { params, body: { reason } }));
    else if (action === 'cancel')
      await got(api.POST('/api/workflow/executions/{id}/cancel', { params, body: { reason, compensate } }));
    else if (action === 'retry') {
      const body = { reason, ...told(again) };
      await got(api.POST('/api/workflow/executions/{id}/retry', { params, body }));
    } else if (action === 'dismiss') {
      const body = { action, ids: [execution.id], reason };
      await got(api.POST('/api/workflow/executions/bulk', { body }));
    } else {
      const started = await got(
        api.POST('/api/workflow/executions/{id}/replay', { params, body: { reason } }),
      );
      say('Started anew');
      replayed(started.executionId);
      return;
    }
    say(`${action}: taken`);
    await queries.invalidateQueries({ queryKey: ['execution', execution.id] });
    await queries.invalidateQueries({ queryKey: ['audit'] });
  };
  return (
    <Reasoned
      title={`${action[0]?.toUpperCase()}${action.slice(1)} this execution of ${execution.key}`}
      what={WHAT[action]}
      verb={`${action[0]?.toUpperCase()}${action.slice(1)}`}
      harmful={action === 'cancel'}
      close={close}
      act={perform}
    >
      {action === 'cancel' && (
        <label className="inline">
          <input
            type="checkbox"
            className="choice"
            checked={compensate}
            onChange={(event) => setCompensate(event.target.checked)}
          />
          Undo what was done, where nodes say how
        </label>
      )}
      {action === 'retry' && (
        <RetryFields
          nodes={execution.nodes.map((node) => node.nodeId)}
          version={String(execution.version)}
          value={again}
          now={execution.context}
          set={setAgain}
        />
      )}
    </Reasoned>
  );
}
