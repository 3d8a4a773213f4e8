import { useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { api, got } from '../api/client';
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
import { LastRuns } from './LastRuns';
import { NextTimes } from './NextTimes';
import { ScheduleForm } from './ScheduleForm';
import { ScheduleMonth } from './ScheduleMonth';
import './schedules.css';
import { inWords, type Schedule } from './schedule-times';
import { useWorkflowNames } from './useWorkflowNames';

const STATUSES: readonly Schedule['status'][] = ['ACTIVE', 'INACTIVE'];

export default function Schedules() {
  const [filters, set] = useFilters();
  const [open, setOpen] = useState<string | null>(null);
  const [editing, edit] = useState<Schedule | 'new' | null>(null);
  const mayEdit = useMay('editor');
  const named = useWorkflowNames();
  const status = filters.status as Schedule['status'] | undefined;
  const pages = usePages(
    ['schedules', status],
    (cursor) => got(api.GET('/api/workflow/schedule', { params: { query: { status, cursor, limit: 100 } } })),
    { every: 30_000 },
  );
  const columns = useMemo<Column<Schedule>[]>(
    () => [
      { title: 'Workflow', width: 'minmax(5rem, 1.5fr)', show: (row) => named(row.workflowId).name },
      { title: 'Status', width: '6.5rem', show: (row) => <Status of={row.status} /> },
      { title: 'Next', width: '7rem', show: (row) => <Time at={row.nextRunAt} /> },
      { title: 'When', width: 'minmax(5rem, 1fr)', show: (row) => <code>{inWords(row)}</code>, wide: true },
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
  const month = filters.view === 'month';
  return (
    <Page
      title="Schedules"
      actions={
        mayEdit && (
          <button type="button" className="button primary" onClick={() => edit('new')}>
            New schedule
          </button>
        )
      }
      filters={
        <>
          <div className="segments" role="group" aria-label="Show as">
            <button type="button" aria-pressed={!month} onClick={() => set({ view: '', month: '' })}>
              List
            </button>
            <button type="button" aria-pressed={month} onClick={() => set({ view: 'month' })}>
              Month
            </button>
          </div>
          {!month && (
            <Choose
              label="Status"
              value={status ?? ''}
              options={STATUSES}
              set={(value) => set({ status: value })}
            />
          )}
        </>
      }
    >
      {month ? (
        <ScheduleMonth
          schedules={pages.rows}
          nameOf={(schedule) => named(schedule.workflowId).name}
          month={filters.month}
          turn={(to) => set({ month: to })}
          open={(schedule) => setOpen(schedule.id)}
        />
      ) : (
        <Listed
          label="Schedules"
          pages={pages}
          columns={columns}
          keyOf={(row) => row.id}
          onOpen={(row) => setOpen(row.id)}
          empty={
            <Empty title="Nothing is started by the clock">
              <p className="quiet">
                Make a schedule here, or give a definition a <code>schedule</code>.
              </p>
            </Empty>
          }
        />
      )}
      {chosen && (
        <One
          schedule={chosen}
          name={named(chosen.workflowId)}
          close={() => setOpen(null)}
          edit={() => {
            setOpen(null);
            edit(chosen);
          }}
        />
      )}
      {editing && <ScheduleForm schedule={editing === 'new' ? null : editing} close={() => edit(null)} />}
    </Page>
  );
}

function One({
  schedule,
  name,
  close,
  edit,
}: {
  schedule: Schedule;
  name: { name: string; key: string };
  close: () => void;
  edit: () => void;
}) {
  const mayEdit = useMay('editor') && schedule.origin !== 'definition';
  const mayOperate = useMay('operator');
  const [error, setError] = useState<unknown>(null);
  const [, go] = useLocation();
  const queries = useQueryClient();
  const params = { path: { id: schedule.id } };
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
          <Status of={schedule.status} /> <code>{inWords(schedule)}</code>{' '}
          <span className="quiet">{schedule.timezone}</span>
        </p>
        <h3>The next five times</h3>
        <NextTimes when={schedule} />
        <h3>The last runs</h3>
        <LastRuns schedule={schedule.id} />
        {schedule.origin === 'definition' && (
          <p className="quiet">It stands in the workflow's definition, and is changed there.</p>
        )}
        {error ? <Problem error={error} /> : null}
        <p className="inline">
          <Link className="button" href={`/workflows/${encodeURIComponent(name.key)}`}>
            Open the workflow
          </Link>
          {mayEdit && (
            <button type="button" className="button" onClick={edit}>
              Change
            </button>
          )}
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
