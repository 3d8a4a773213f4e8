import type { Edit } from '../graph/edit';
import { type Flow, isObject, type JsonObject } from '../graph/flow';
import { NextTimes } from '../pages/NextTimes';
import type { When } from '../pages/schedule-times';
import { SchemaForm } from './SchemaForm';
import type { Schema } from './schema';

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
  readonly edit: (edit: Edit) => void;
}

/** What holds for the workflow as a whole, and when the clock starts it. */
export function FlowPanel({ flow, edit }: Props) {
  const all = Array.isArray(flow.rest.schedule) ? flow.rest.schedule : [flow.rest.schedule];
  const schedule = isObject(all[0]) ? all[0] : {};
  const known = picked(flow.head, HEAD);
  const timed = picked(schedule, SCHEDULE);
  return (
    <div className="node-panel">
      <header>
        <h2>The workflow</h2>
      </header>
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
    </div>
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
