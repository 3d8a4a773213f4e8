import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, got, type Schemas } from '../api/client';
import { useMay } from '../api/me';
import { CopyId } from '../ui/CopyId';
import { JsonTree } from '../ui/JsonTree';
import { Reasoned } from '../ui/Reasoned';
import { wordOf } from '../ui/Status';
import { Countdown, Time } from '../ui/Time';
import { Worded } from '../ui/Worded';

type Wait = Schemas['EventWaitWhole'];

/** What it needs, what it has, and what came close. */
export function WaitFacts({ wait }: { wait: Wait }) {
  return (
    <>
      <p className="note">
        <Worded text={wait.explanation} />
      </p>
      <ul className="events">
        {wait.enabledEvents.map((name) => {
          const has = wait.receivedEvents.includes(name);
          return (
            <li key={name}>
              <span className={has ? 'status good' : 'status wait'}>
                <span aria-hidden="true">{has ? '✓' : '◌'}</span>
                {has ? 'received' : wait.neededEvents.includes(name) ? 'needed' : 'not needed'}
              </span>
              <strong>{name}</strong>
            </li>
          );
        })}
      </ul>
      <dl className="facts">
        <dt>Goes on with</dt>
        <dd>{wordOf(wait.aggregationStrategy)}</dd>
        <dt>After the deadline</dt>
        <dd>{wordOf(wait.onTimeout)}</dd>
        <dt>Deadline</dt>
        <dd>
          {wait.status === 'waiting' ? (
            <Countdown to={wait.expiresAt} from={wait.createdAt} />
          ) : (
            <Time at={wait.expiresAt} />
          )}
        </dd>
        <dt>Correlation id</dt>
        <dd>
          <CopyId id={wait.correlationId} whole />
        </dd>
      </dl>
      <NearMisses missed={wait.missed} open={wait.status === 'waiting'} />
    </>
  );
}

function NearMisses({ missed, open }: { missed: readonly Schemas['NearMissItem'][]; open: boolean }) {
  const [applying, apply] = useState<Schemas['NearMissItem'] | null>(null);
  const mayOperate = useMay('operator');
  const queries = useQueryClient();
  if (missed.length === 0) return <p className="quiet">No event came close and was turned away.</p>;
  return (
    <section className="stack">
      <h3>Came close, and was turned away</h3>
      {missed.map((each) => (
        <div key={each.id} className="card">
          <p className="inline">
            <span className="status warn">▲ {wordOf(each.reason)}</span>
            <span>{each.event ?? each.source}</span>
            <Time at={each.receivedAt} />
            {each.appliedTo && <span className="quiet">applied by {each.appliedBy}</span>}
            {open && mayOperate && !each.appliedTo && (
              <button type="button" className="button small" onClick={() => apply(each)}>
                Take it all the same
              </button>
            )}
          </p>
          <JsonTree value={each.payload} open={0} />
        </div>
      ))}
      {applying && (
        <Reasoned
          title="Take this event all the same"
          what="It is given to the wait as if it had been accepted. That cannot be undone."
          verb="Give it to the wait"
          close={() => apply(null)}
          act={async (reason) => {
            await got(
              api.POST('/api/near-misses/{id}/apply', {
                params: { path: { id: applying.id } },
                body: { reason },
              }),
            );
            await queries.invalidateQueries();
          }}
        />
      )}
    </section>
  );
}
