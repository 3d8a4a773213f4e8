import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { api, got, type Schemas } from '../api/client';
import { useMay } from '../api/me';
import { CopyId } from '../ui/CopyId';
import { Dialog } from '../ui/Dialog';
import { JsonTree } from '../ui/JsonTree';
import { Reasoned } from '../ui/Reasoned';
import { Status } from '../ui/Status';
import { Time } from '../ui/Time';
import { say } from '../ui/toasts';
import { failedAt, fieldsOf, LetterBody } from './LetterBody';
import { AS_IT_WAS, Patch, RetryFields, told } from './RetryFields';

export type Letter = Schemas['LetterItem'];
export type Action = 'redrive' | 'dismiss';

export function OneLetter({ letter, close }: { letter: Letter; close: () => void }) {
  const [action, act] = useState<Action | null>(null);
  const [again, setAgain] = useState(AS_IT_WAS);
  const mayOperate = useMay('operator');
  const place = failedAt(letter);
  const fields = fieldsOf(letter);
  return (
    <Dialog open close={close} title="Dead letter" wide>
      <div className="stack">
        <div className="problem">
          <p>
            <span aria-hidden="true">✕ </span>
            {letter.errorMessage}
          </p>
          <p>
            <code>{letter.errorType}</code>
          </p>
        </div>
        <dl className="facts">
          <dt>From</dt>
          <dd>{letter.source}</dd>
          {place !== null && (
            <>
              <dt>Failed at</dt>
              <dd>
                <mark className="broken">{place}</mark>
              </dd>
            </>
          )}
          <dt>Key</dt>
          <dd>
            <CopyId id={letter.key} whole />
          </dd>
          <dt>When</dt>
          <dd>
            <Time at={letter.createdAt} />
          </dd>
          <dt>Status</dt>
          <dd>
            <Status of={letter.status} />
          </dd>
        </dl>
        <h3>What it is about</h3>
        <LetterBody letter={letter} />
        {Array.isArray(letter.attempts) && letter.attempts.length > 0 && (
          <>
            <h3>Attempts</h3>
            <JsonTree value={letter.attempts} />
          </>
        )}
        <p className="inline">
          {letter.kind === 'execution' && (
            <Link className="button" href={`/executions/${letter.key}`}>
              Open the execution
            </Link>
          )}
          {mayOperate && letter.status === 'open' && (
            <>
              <button type="button" className="button primary" onClick={() => act('redrive')}>
                Redrive
              </button>
              <button type="button" className="button" onClick={() => act('dismiss')}>
                Dismiss
              </button>
            </>
          )}
        </p>
      </div>
      {action && (
        <Reasoned
          title={action === 'redrive' ? 'Try it again' : 'Let it be'}
          what={
            action === 'redrive'
              ? letter.kind === 'execution'
                ? 'It goes on where it failed; what was done before is not done again.'
                : 'The message is sent again, to its topic, with its key and its headers.'
              : 'Nothing is tried again. The letter stays readable.'
          }
          verb={action === 'redrive' ? 'Redrive' : 'Dismiss'}
          close={() => act(null)}
          act={async (reason) => {
            const params = { path: { id: letter.id } };
            if (action === 'redrive')
              await got(
                api.POST('/api/dead-letters/{id}/redrive', { params, body: { reason, ...told(again) } }),
              );
            else await got(api.POST('/api/dead-letters/{id}/dismiss', { params, body: { reason } }));
            say(action === 'redrive' ? 'It is tried again' : 'Dismissed');
            close();
          }}
        >
          {action === 'redrive' && letter.kind === 'execution' && (
            <Again execution={letter.key} value={again} set={setAgain} />
          )}
          {action === 'redrive' && fields && (
            <Patch label="Changes to the message" value={again} set={setAgain} now={fields} />
          )}
        </Reasoned>
      )}
    </Dialog>
  );
}

/** What may be changed before it is tried again. */
function Again({
  execution,
  ...given
}: { execution: string } & Pick<Parameters<typeof RetryFields>[0], 'value' | 'set'>) {
  const { data } = useQuery({
    queryKey: ['execution', execution],
    queryFn: () => got(api.GET('/api/workflow/executions/{id}', { params: { path: { id: execution } } })),
  });
  return (
    <RetryFields
      nodes={data?.nodes.map((node) => node.nodeId) ?? []}
      version={String(data?.version ?? '')}
      now={data?.context}
      {...given}
    />
  );
}
