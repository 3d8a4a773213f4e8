import { api, got, type Schemas } from '../api/client';
import { Empty } from '../ui/Empty';
import type { Column } from '../ui/List';
import { Listed } from '../ui/Listed';
import { Page } from '../ui/Page';
import { Status } from '../ui/Status';
import { Time } from '../ui/Time';
import { usePages } from '../ui/usePages';

type Instance = Schemas['InstanceRow'];

const COLUMNS: readonly Column<Instance>[] = [
  { title: 'Name', width: 'minmax(5rem, 1.5fr)', show: (row) => row.name },
  { title: 'Status', width: '6.5rem', show: (row) => <Status of={row.status} /> },
  { title: 'Drives', width: '5rem', show: (row) => row.driving },
  { title: 'Roles', width: 'minmax(5rem, 1fr)', show: (row) => row.roles.join(', '), wide: true },
  { title: 'Host', width: 'minmax(5rem, 1fr)', show: (row) => `${row.host} · ${row.pid}`, wide: true },
  { title: 'Version', width: '6rem', show: (row) => row.version, wide: true },
  { title: 'Since', width: '6rem', show: (row) => <Time at={row.startedAt} />, wide: true },
  { title: 'Heard of', width: '6rem', show: (row) => <Time at={row.heartbeatAt} /> },
];

export default function Instances() {
  const pages = usePages(
    ['instances'],
    (cursor) => got(api.GET('/api/instances', { params: { query: { cursor, limit: 100 } } })),
    { every: 5_000 },
  );
  return (
    <Page title="Instances">
      <Listed
        label="Instances"
        pages={pages}
        columns={COLUMNS}
        keyOf={(row) => row.name}
        empty={<Empty title="Nobody is there" />}
      />
    </Page>
  );
}
