import { Link } from 'wouter';
import type { Schemas } from '../api/client';
import { Dialog } from '../ui/Dialog';
import { Status } from '../ui/Status';
import { Time } from '../ui/Time';
import { AlertHistory } from './AlertHistory';
import { whatOf } from './alert-words';
import { Trend } from './Trend';

/** An alert, with what led to it and what was done about it. */
export function OneAlert({ alert, close }: { alert: Schemas['AlertRow']; close: () => void }) {
  return (
    <Dialog open close={close} title={whatOf(alert)}>
      <div className="stack">
        <p className="inline">
          <Status of={alert.severity} /> <Status of={alert.state} />
          <Trend version={alert.workflowVersionId} node={alert.node} group={alert.groupHash} />
        </p>
        <dl className="facts">
          <dt>Item</dt>
          <dd>
            <Link href={`/items/${encodeURIComponent(alert.correlationKey)}`}>{alert.correlationKey}</Link>
          </dd>
          <dt>Workflow</dt>
          <dd>{alert.workflowKey}</dd>
          <dt>First</dt>
          <dd>
            <Time at={alert.firstTriggeredAt} />
          </dd>
          <dt>Last</dt>
          <dd>
            <Time at={alert.lastTriggeredAt} />
            {alert.count > 1 && `, ${alert.count} times`}
          </dd>
          {alert.suppressedUntil && (
            <>
              <dt>Quiet until</dt>
              <dd>
                <Time at={alert.suppressedUntil} />
              </dd>
            </>
          )}
        </dl>
        <h3>History</h3>
        <AlertHistory id={alert.id} />
      </div>
    </Dialog>
  );
}
