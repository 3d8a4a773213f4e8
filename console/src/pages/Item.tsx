import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { api, got, type Schemas } from '../api/client';
import { CopyId } from '../ui/CopyId';
import { JsonTree } from '../ui/JsonTree';
import { Skeleton } from '../ui/List';
import { Page } from '../ui/Page';
import { Problem } from '../ui/Problem';
import { Status } from '../ui/Status';
import { Countdown, Time } from '../ui/Time';
import { lengthOf } from '../ui/time';
import { AlertHistory } from './AlertHistory';
import { whatOf } from './alert-words';
import { ItemLine } from './ItemLine';
import './watch.css';

type Whole = Schemas['ItemWhole'];

/** One line through time: what came, what is to come, what did not. */
export default function Item({ name }: { name: string }) {
  const key = decodeURIComponent(name);
  const { data, error, refetch } = useQuery({
    queryKey: ['item', key],
    queryFn: () => got(api.GET('/items/{correlationKey}', { params: { path: { correlationKey: key } } })),
    refetchInterval: 2_000,
  });
  if (error && !data) return <Problem error={error} again={() => refetch()} />;
  if (!data) return <Skeleton />;
  return (
    <Page title={key} actions={<CopyId id={key} whole />}>
      <p className="inline">
        <Status of={data.status} />
        <Link href={`/items?workflow=${encodeURIComponent(data.workflowKey)}`}>{data.workflowKey}</Link>
        <span className="quiet">
          version {data.version}, since <Time at={data.startedAt} />
        </span>
        {data.executionId && <Link href={`/executions/${data.executionId}`}>its execution</Link>}
      </p>
      <ItemLine item={data} />
      <div className="item-body">
        <ol className="timeline">
          {data.events.map((event) => (
            <Event key={`${event.sourceSystem} ${event.eventId}`} event={event} />
          ))}
          {data.expectations
            .filter((each) => each.status !== 'cleared')
            .map((each) => (
              <Expected key={each.id} expectation={each} />
            ))}
        </ol>
        {data.alerts.length > 0 && (
          <section className="stack">
            <h2>Alerts</h2>
            <p>
              <Link href={`/alerts?q=${encodeURIComponent(key)}`}>Deal with them</Link>
            </p>
            {data.alerts.map((alert) => (
              <div key={alert.id} className="card">
                <p className="inline">
                  <Status of={alert.severity} /> <Status of={alert.state} quiet />
                  {whatOf(alert)}
                </p>
                <p className="quiet">
                  <Time at={alert.lastTriggeredAt} />
                  {alert.ackedBy && <>, {alert.ackedBy} is on it</>}
                  {alert.count > 1 && <>, {alert.count} times</>}
                </p>
                <History id={alert.id} />
              </div>
            ))}
          </section>
        )}
      </div>
    </Page>
  );
}

/** Read when it is asked for. */
function History({ id }: { id: number }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>History</summary>
      {open && <AlertHistory id={id} />}
    </details>
  );
}

function Event({ event }: { event: Whole['events'][number] }) {
  const tone = event.late || event.orderViolation ? 'warn' : 'good';
  return (
    <li>
      <span className={`dot ${tone}`} aria-hidden="true">
        {tone === 'good' ? '●' : '▲'}
      </span>
      <div>
        <p className="inline">
          <strong>{event.node}</strong>
          <Time at={event.eventTime} />
          {event.late && (
            <span className="status warn">
              ▲ late{event.latenessSec ? ` by ${lengthOf(event.latenessSec * 1000)}` : ''}
            </span>
          )}
          {event.orderViolation && <span className="status warn">▲ out of order</span>}
          {event.duplicate && <span className="status still">↷ again</span>}
          <span className="quiet">from {event.sourceSystem}</span>
        </p>
        {event.payload !== null && <JsonTree name="payload" value={event.payload} open={0} />}
      </div>
    </li>
  );
}

/** A hollow mark: it is to come, or should have. */
function Expected({ expectation }: { expectation: Whole['expectations'][number] }) {
  const missed = expectation.status === 'fired';
  return (
    <li>
      <span className={missed ? 'dot bad' : 'dot hollow'} aria-hidden="true">
        {missed ? '■' : '○'}
      </span>
      <p className="inline">
        <strong>{expectation.toNode}</strong>
        {missed ? (
          <span className="status bad">■ missed</span>
        ) : (
          <span className="status wait">◌ expected</span>
        )}
        {missed ? (
          <span className="quiet">
            was due <Time at={expectation.dueAt} />
          </span>
        ) : (
          <Countdown to={expectation.dueAt} />
        )}
      </p>
    </li>
  );
}
