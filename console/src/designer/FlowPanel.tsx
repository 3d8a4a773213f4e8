import { useContext } from 'react';
import type { Edit } from '../graph/edit';
import { type Flow, isObject, type JsonObject } from '../graph/flow';
import { NextTimes } from '../pages/NextTimes';
import type { When } from '../pages/schedule-times';
import { CopyId } from '../ui/CopyId';
import { fileName } from './Exchange';
import { Editing, Plain } from './fields';
import { PanelProblems } from './PanelProblems';
import { SchemaForm } from './SchemaForm';
import type { Schema } from './schema';
import type { Found } from './useProblems';

const HEAD: Schema = {
  type: 'object',
  properties: {
    description: { type: 'string', title: 'Description' },
    instituteId: { type: 'string', title: 'Institute', description: 'Whose it is.' },
    workflowType: {
      enum: ['MANUAL', 'SCHEDULED', 'TRIGGERED', 'EVENT'],
      title: 'Started',
      default: 'MANUAL',
    },
    durability: { enum: ['journal', 'cache'], title: 'Durability', default: 'journal' },
  },
};

const SCHEDULE: Schema = {
  type: 'object',
  properties: {
    scheduleType: { enum: ['CRON', 'INTERVAL', 'MONTHLY'], title: 'Kind' },
    cronExpression: { type: 'string', title: 'Cron expression', examples: ['0 9 * * MON-FRI'] },
    timezone: { type: 'string', title: 'Zone', examples: ['UTC'] },
    intervalMinutes: { type: 'integer', title: 'Every so many minutes' },
    dayOfMonth: { type: 'integer', title: 'Day of month' },
    time: { type: 'string', title: 'Time', examples: ['09:00'] },
  },
};

interface Props {
  readonly flow: Flow;
  readonly problems: readonly Found[];
  readonly edit: (edit: Edit) => void;
}

/** What holds for the workflow as a whole, and when the clock starts it. */
export function FlowPanel({ flow, problems, edit }: Props) {
  const editable = useContext(Editing);
  const all = Array.isArray(flow.rest.schedule) ? flow.rest.schedule : [flow.rest.schedule];
  const schedule = isObject(all[0]) ? all[0] : {};
  const known = picked(flow.head, HEAD);
  const timed = picked(schedule, SCHEDULE);
  return (
    <div className="node-panel">
      <header>
        <h2>The workflow</h2>
      </header>
      <PanelProblems problems={problems} />
      <Plain value={true}>
        <fieldset className="bare panel-body" disabled={!editable}>
          <SchemaForm
            schema={HEAD}
            root={HEAD}
            value={known}
            change={(now) => edit({ kind: 'head', head: replaced(flow.head, known, now) })}
          />
          <h3>Schedule</h3>
          {all.length > 1 ? (
            <p className="quiet">It has several: they are written as text.</p>
          ) : (
            <>
              <SchemaForm
                schema={SCHEDULE}
                root={SCHEDULE}
                value={timed}
                change={(now) => {
                  const whole = replaced(schedule, timed, now);
                  const { schedule: _, ...rest } = flow.rest;
                  const further = Object.keys(whole).length ? { ...rest, schedule: whole } : rest;
                  edit({ kind: 'head', head: flow.head, rest: further });
                }}
              />
              {isTold(timed) && <NextTimes when={{ timezone: 'UTC', ...timed } as unknown as When} />}
            </>
          )}
          <Certificate flow={flow} />
        </fieldset>
      </Plain>
    </div>
  );
}

/** A certificate is made where the definition is a file, and kept there: a server has none. */
function Certificate({ flow }: { flow: Flow }) {
  return (
    <>
      <h3>Certificate</h3>
      <p className="quiet">
        Whether anything is lost or done twice, after a crash at each step, in every order and at every
        timeout, is tried on the definition as a file. Take it along under <em>Import and export</em>, and run
      </p>
      <p>
        <CopyId id={`muster certify ${fileName(flow)}.json`} whole />
      </p>
    </>
  );
}

/** What the form knows of an object. */
function picked(from: JsonObject, schema: Schema): JsonObject {
  return Object.fromEntries(Object.entries(from).filter(([name]) => name in (schema.properties ?? {})));
}

/** The object with what the form has made of its part. */
function replaced(whole: JsonObject, before: JsonObject, now: JsonObject): JsonObject {
  const others = Object.entries(whole).filter(([name]) => !(name in before));
  return { ...Object.fromEntries(others), ...now };
}

function isTold({ scheduleType, cronExpression, intervalMinutes, dayOfMonth }: JsonObject): boolean {
  if (scheduleType === 'CRON') return Boolean(cronExpression);
  return scheduleType === 'INTERVAL' ? Boolean(intervalMinutes) : Boolean(scheduleType && dayOfMonth);
}
