import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { api, got, type Schemas } from '../api/client';
import { useMay } from '../api/me';
import { Dialog } from '../ui/Dialog';
import { Empty } from '../ui/Empty';
import { Choose } from '../ui/Filter';
import type { Column } from '../ui/List';
import { Listed } from '../ui/Listed';
import { Page } from '../ui/Page';
import { Problem } from '../ui/Problem';
import { Status } from '../ui/Status';
import { Time } from '../ui/Time';
import { say } from '../ui/toasts';
import { useFilters } from '../ui/useFilters';
import { usePages } from '../ui/usePages';
import { useWorkflowNames } from './useWorkflowNames';

type Schedule = Schemas['ScheduleItem'];
const STATUSES: readonly Schedule['status'][] = ['ACTIVE', 'INACTIVE'];

export default function Schedules() {
  const [filters, set] = useFilters();
  const [open, setOpen] = useState<string | null>(null);
  const named = useWorkflowNames();
  const status = filters.status as Schedule['status'] | undefined;
  const pages = usePages(
    ['schedules', status],
    (cursor) => got(api.GET('/api/workflow/schedule', { params: { query: { status, cursor, limit: 100 } } })),
    30_000,
  );
  const columns = useMemo<Column<Schedule>[]>(
    () => [
      { title: 'Workflow', width: 'minmax(5rem, 1.5fr)', show: (row) => named(row.workflowId).name },
      { title: 'Status', width: '6.5rem', show: (row) => <Status of={row.status} /> },
      { title: 'Next', width: '7rem', show: (row) => <Time at={row.nextRunAt} /> },
      { title: 'When', width: 'minmax(5rem, 1fr)', show: (row) => <code>{when(row)}</code>, wide: true },
      { title: 'Zone', width: '9rem', show: (row) => row.timezone, wide: true },
      { title: 'Last', width: '6rem', show: (row) => <Time at={row.lastRunAt} />, wide: true },
      {
        title: 'Last error',
        width: 'minmax(5rem, 1fr)',
        show: (row) => <span className="error-words">{row.lastError}</span>,
        wide: true,
      },
    ],
    [named],
  );
  const chosen = pages.rows.find((row) => row.id === open);
  return (
    <Page
      title="Schedules"
      filters={
        <Choose
          label="Status"
          value={status ?? ''}
          options={STATUSES}
          set={(value) => set({ status: value })}
        />
      }
    >
      <Listed
        label="Schedules"
        pages={pages}
        columns={columns}
        keyOf={(row) => row.id}
        onOpen={(row) => setOpen(row.id)}
        empty={
          <Empty title="Nothing is started by the clock">
            <p className="quiet">
              Give a definition a <code>schedule</code>, or make one with{' '}
              <code>POST /api/workflow/schedule</code>.
            </p>
          </Empty>
        }
      />
      {chosen && <One schedule={chosen} name={named(chosen.workflowId)} close={() => setOpen(null)} />}
    </Page>
  );
}

function when(row: Schedule): string {
  if (row.cronExpression) return row.cronExpression;
  if (row.intervalMinutes) return `every ${row.intervalMinutes} min`;
  return `day ${row.dayOfMonth} at ${row.time ?? '00:00'}`;
}

function One({
  schedule,
  name,
  close,
}: {
  schedule: Schedule;
  name: { name: string; key: string };
  close: () => void;
}) {
  const mayOperate = useMay('operator');
  const [error, setError] = useState<unknown>(null);
  const [, go] = useLocation();
  const queries = useQueryClient();
  const params = { path: { id: schedule.id } };
  const next = useQuery({
    queryKey: ['schedules', 'next', schedule.id, schedule.status],
    queryFn: () =>
      got(api.GET('/api/workflow/schedule/{id}/next', { params: { ...params, query: { count: 5 } } })),
  });
  const active = schedule.status === 'ACTIVE';
  const toggle = async () => {
    await got(
      active
        ? api.POST('/api/workflow/schedule/{id}/deactivate', { params })
        : api.POST('/api/workflow/schedule/{id}/activate', { params }),
    );
    say(active ? 'It starts nothing until it is activated' : 'Active');
    await queries.invalidateQueries({ queryKey: ['schedules'] });
  };
  const run = async () => {
    const started = await got(api.POST('/api/workflow/schedule/{id}/run', { params }));
    go(`/executions/${started.executionId}`);
  };
  return (
    <Dialog open close={close} title={name.name}>
      <div className="stack">
        <p className="inline">
          <Status of={schedule.status} /> <code>{when(schedule)}</code>{' '}
          <span className="quiet">{schedule.timezone}</span>
        </p>
        <h3>The next five times</h3>
        {next.error && <Problem error={next.error} />}
        <table className="times">
          <thead>
            <tr>
              <th scope="col">In {schedule.timezone}</th>
              <th scope="col">For you</th>
              <th scope="col">From now</th>
            </tr>
          </thead>
          <tbody>
            {next.data?.next.map((each) => (
              <tr key={each}>
                <td>{inZone(each, schedule.timezone)}</td>
                <td>{inZone(each)}</td>
                <td>
                  <Time at={each} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        {next.data?.next.length === 0 && <p className="quiet">It never fires again.</p>}
        {error ? <Problem error={error} /> : null}
        <p className="inline">
          <Link className="button" href={`/workflows/${encodeURIComponent(name.key)}`}>
            Open the workflow
          </Link>
          {mayOperate && (
            <>
              <button type="button" className="button" onClick={() => toggle().catch(setError)}>
                {active ? 'Deactivate' : 'Activate'}
              </button>
              <button type="button" className="button" onClick={() => run().catch(setError)}>
                Run now
              </button>
            </>
          )}
        </p>
      </div>
    </Dialog>
  );
}

function inZone(at: string, timeZone?: string): string {
  const format = {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
  } as const;
  return new Intl.DateTimeFormat(undefined, timeZone ? { ...format, timeZone } : format).format(new Date(at));
}
