import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, got } from '../api/client';
import { FormDialog } from '../ui/FormDialog';
import { say } from '../ui/toasts';
import { NextTimes } from './NextTimes';
import { type Schedule, type When, whenOf } from './schedule-times';

const KINDS = [
  ['CRON', 'Cron'],
  ['INTERVAL', 'Interval'],
  ['MONTHLY', 'Monthly'],
] as const;

const FIELDS = ['Minute', 'Hour', 'Day of month', 'Month', 'Day of week'] as const;

const PRESETS = [
  ['Every hour', '0 * * * *'],
  ['Every day at 9', '0 9 * * *'],
  ['Weekdays at 9', '0 9 * * MON-FRI'],
  ['Mondays at 6', '0 6 * * MON'],
  ['The month’s last day', '0 9 L * *'],
] as const;

const ZONES = ['UTC', ...Intl.supportedValuesOf('timeZone')];

/** A schedule, new or changed, with the times it would come to beside it. */
export function ScheduleForm({ schedule, close }: { schedule: Schedule | null; close: () => void }) {
  const queries = useQueryClient();
  const [workflow, setWorkflow] = useState(schedule?.workflowId ?? '');
  const [when, setWhen] = useState<When>(schedule ?? begun());
  const saving = useMutation({
    mutationFn: () => saved(schedule, workflow, when),
    onSuccess: async () => {
      say(schedule ? 'Changed' : 'It starts its workflow from now on');
      await queries.invalidateQueries({ queryKey: ['schedules'] });
      close();
    },
  });
  return (
    <FormDialog
      title={schedule ? 'Change the schedule' : 'New schedule'}
      wide
      close={close}
      acting={saving}
      verb="Save"
    >
      {!schedule && <Workflow value={workflow} set={setWorkflow} />}
      <div className="segments" role="group" aria-label="Kind">
        {KINDS.map(([kind, title]) => (
          <button
            key={kind}
            type="button"
            aria-pressed={when.scheduleType === kind}
            onClick={() => setWhen(turned(when, kind))}
          >
            {title}
          </button>
        ))}
      </div>
      {when.scheduleType === 'CRON' && (
        <Cron
          value={when.cronExpression ?? ''}
          set={(cronExpression) => setWhen({ ...when, cronExpression })}
        />
      )}
      {when.scheduleType === 'INTERVAL' && (
        <Numbered
          label="Every so many minutes"
          value={when.intervalMinutes}
          set={(intervalMinutes) => setWhen({ ...when, intervalMinutes })}
        />
      )}
      {when.scheduleType === 'MONTHLY' && (
        <div className="inline">
          <Numbered
            label="Day of month"
            value={when.dayOfMonth}
            set={(dayOfMonth) => setWhen({ ...when, dayOfMonth })}
          />
          <label className="field">
            <span>Time</span>
            <input
              className="input"
              type="time"
              required
              value={when.time ?? ''}
              onChange={(event) => setWhen({ ...when, time: event.target.value })}
            />
          </label>
        </div>
      )}
      <label className="field">
        <span>Zone</span>
        <input
          className="input"
          list="zones"
          required
          value={when.timezone}
          onChange={(event) => setWhen({ ...when, timezone: event.target.value })}
        />
        <datalist id="zones">
          {ZONES.map((zone) => (
            <option key={zone} value={zone} />
          ))}
        </datalist>
      </label>
      <h3>The next five times</h3>
      <NextTimes when={when} />
    </FormDialog>
  );
}

function begun(): When {
  const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';
  return { scheduleType: 'CRON', cronExpression: '0 9 * * MON-FRI', timezone };
}

/** The same in another kind: what only the other one has is left behind. */
function turned(when: When, scheduleType: string): When {
  const { timezone, startDate, endDate } = when;
  const kept = { scheduleType, timezone, startDate, endDate } as When;
  if (scheduleType === 'INTERVAL') return { ...kept, intervalMinutes: 60 };
  if (scheduleType === 'MONTHLY') return { ...kept, dayOfMonth: 1, time: '09:00' };
  return { ...kept, cronExpression: '0 9 * * *' };
}

function saved(schedule: Schedule | null, workflowId: string, when: When) {
  if (!schedule) return got(api.POST('/api/workflow/schedule', { body: { ...whenOf(when), workflowId } }));
  const { misfire, overlap, pauseAfterFailures } = schedule;
  const kept = { misfire, overlap, ...(pauseAfterFailures ? { pauseAfterFailures } : {}) };
  return got(
    api.PUT('/api/workflow/schedule/{id}', {
      params: { path: { id: schedule.id } },
      headers: { 'If-Match': `"${schedule.version}"` },
      body: { ...whenOf(when), ...kept, workflowId },
    }),
  );
}

/** A cron expression, whole or field by field. */
function Cron({ value, set }: { value: string; set: (value: string) => void }) {
  const parts = value.trim().split(/\s+/);
  const plain = parts.length === 5;
  return (
    <div className="stack">
      <label className="field">
        <span>Cron expression</span>
        <input
          className="input mono"
          required
          spellCheck={false}
          value={value}
          onChange={(event) => set(event.target.value)}
        />
      </label>
      {plain && (
        <div className="cron">
          {FIELDS.map((title, index) => (
            <label key={title} className="field">
              <span>{title}</span>
              <input
                className="input mono"
                spellCheck={false}
                value={parts[index]}
                onChange={(event) => {
                  const typed = event.target.value.replaceAll(/\s/g, '');
                  if (typed) set(parts.map((part, at) => (at === index ? typed : part)).join(' '));
                }}
              />
            </label>
          ))}
        </div>
      )}
      <p className="inline">
        {PRESETS.map(([title, expression]) => (
          <button key={title} type="button" className="button small" onClick={() => set(expression)}>
            {title}
          </button>
        ))}
      </p>
    </div>
  );
}

interface NumberedProps {
  readonly label: string;
  readonly value: number | null | undefined;
  readonly set: (value: number) => void;
}

function Numbered({ label, value, set }: NumberedProps) {
  return (
    <label className="field">
      <span>{label}</span>
      <input
        className="input"
        type="number"
        min="1"
        required
        value={value ?? ''}
        onChange={(event) => set(Number(event.target.value))}
      />
    </label>
  );
}

function Workflow({ value, set }: { value: string; set: (id: string) => void }) {
  const { data } = useQuery({
    queryKey: ['workflows', 'names'],
    queryFn: () => got(api.GET('/api/workflow', { params: { query: { limit: 200 } } })),
    staleTime: 60_000,
  });
  return (
    <label className="field">
      <span>Workflow</span>
      <select className="input" required value={value} onChange={(event) => set(event.target.value)}>
        <option value="">Choose one</option>
        {data?.items.map((each) => (
          <option key={each.id} value={each.id}>
            {each.name}
          </option>
        ))}
      </select>
    </label>
  );
}
