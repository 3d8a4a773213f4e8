import { api, got, type Schemas } from '../api/client';
import { Empty } from '../ui/Empty';
import { Choose, Search } from '../ui/Filter';
import type { Column } from '../ui/List';
import { Listed } from '../ui/Listed';
import { News } from '../ui/News';
import { Page } from '../ui/Page';
import { Status } from '../ui/Status';
import { Time } from '../ui/Time';
import { useFilters } from '../ui/useFilters';
import { usePages } from '../ui/usePages';

type Item = Schemas['ItemRow'];
const STATUSES: readonly Item['status'][] = ['green', 'amber', 'red'];

const COLUMNS: readonly Column<Item>[] = [
  { title: 'Key', width: 'minmax(6rem, 1.5fr)', show: (row) => row.correlationKey },
  { title: 'Status', width: '5.5rem', show: (row) => <Status of={row.status} /> },
  { title: 'Last seen at', width: 'minmax(5rem, 1fr)', show: (row) => row.lastNode ?? '–' },
  { title: 'Workflow', width: 'minmax(5rem, 1fr)', show: (row) => row.workflowKey, wide: true },
  { title: 'Since', width: '6rem', show: (row) => <Time at={row.startedAt} />, wide: true },
  { title: 'Heard of', width: '6rem', show: (row) => <Time at={row.updatedAt} />, wide: true },
  { title: 'Finished', width: '6rem', show: (row) => <Time at={row.finishedAt} />, wide: true },
];

const keyOf = (row: Item) => String(row.runId);

export default function Items() {
  const [filters, set] = useFilters();
  const { q, workflow, node, group } = filters;
  const status = filters.status as Item['status'] | undefined;
  const pages = usePages(
    ['items', q, workflow, status, node, group],
    (cursor) =>
      got(
        api.GET('/items', {
          params: { query: { q, workflow, status, node, group, cursor, limit: 100 } },
        }),
      ),
    { keyOf, every: 5_000 },
  );
  return (
    <Page
      title="Items"
      actions={<News count={pages.news.size} show={pages.show} />}
      filters={
        <>
          <Search label="How a key begins" value={q ?? ''} set={(text) => set({ q: text })} />
          <Choose
            label="Status"
            value={status ?? ''}
            options={STATUSES}
            set={(value) => set({ status: value })}
          />
          {workflow && (
            <button
              type="button"
              className="link"
              onClick={() => set({ workflow: undefined, node: undefined, group: undefined })}
            >
              Only {node ? `what waits for ${node} in ` : ''}
              {workflow}
              {group ? ', one group' : ''}: show all
            </button>
          )}
        </>
      }
    >
      <Listed
        label="Items"
        pages={pages}
        columns={COLUMNS}
        keyOf={keyOf}
        href={(row) => `/items/${encodeURIComponent(row.correlationKey)}`}
        empty={
          <Empty title="Nothing is on its way">
            <p className="quiet">
              Send events to <code>POST /ingest</code>: each key that passes through a watched workflow is an
              item here.
            </p>
          </Empty>
        }
      />
    </Page>
  );
}
