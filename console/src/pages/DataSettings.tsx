/** What QUERY and ACTION nodes name: databases, and the statements that may be run on them. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, got, type Schemas } from '../api/client';
import { FormDialog } from '../ui/FormDialog';
import { Time } from '../ui/Time';
import { say } from '../ui/toasts';
import { usePages } from '../ui/usePages';
import { Kept } from './Kept';

type Source = Schemas['SourceRow'];
type Statement = Schemas['QueryRow'] | Schemas['ActionRow'];
type Kind = 'queries' | 'actions';

export function DataSources() {
  const [open, setOpen] = useState<Source | 'new' | null>(null);
  const pages = usePages(['data-sources'], (cursor) =>
    got(api.GET('/api/data-sources', { params: { query: { cursor, limit: 100 } } })),
  );
  return (
    <Kept
      title="Data sources"
      one="data source"
      words="Databases that queries and actions run on. A password is kept encrypted, and never shown."
      columns={['Key', 'Address', 'Changed']}
      error={pages.error}
      begin={() => setOpen('new')}
      rows={pages.rows.map((source) => (
        <tr key={`${source.instituteId} ${source.key}`}>
          <td>
            <code>{source.key}</code>
          </td>
          <td>
            <code className="broken">{source.url}</code>
          </td>
          <td>
            <Time at={source.updatedAt} />
          </td>
          <td>
            <button
              type="button"
              className="button small"
              aria-label={`Change ${source.key}`}
              onClick={() => setOpen(source)}
            >
              Change
            </button>
          </td>
        </tr>
      ))}
    >
      {open && <SourceDialog source={open === 'new' ? null : open} close={() => setOpen(null)} />}
    </Kept>
  );
}

function SourceDialog({ source, close }: { source: Source | null; close: () => void }) {
  const [key, setKey] = useState(source?.key ?? '');
  const [url, setUrl] = useState(source?.url ?? '');
  const [password, setPassword] = useState('');
  const done = useDone('data-sources', close);
  const body = { url, ...(password ? { password } : {}), poolSize: source?.poolSize ?? 5 };
  const saving = useMutation({
    mutationFn: () =>
      source
        ? got(api.PUT('/api/data-sources/{key}', { ...at(source), body: body }))
        : got(api.POST('/api/data-sources', { body: { key, ...body } })),
    onSuccess: () => done('Kept'),
  });
  const removing = useMutation({
    mutationFn: () => got(api.DELETE('/api/data-sources/{key}', at(source as Source))),
    onSuccess: () => done('Removed'),
  });
  return (
    <FormDialog
      title={source ? `Change ${source.key}` : 'New data source'}
      close={close}
      acting={{ mutate: saving.mutate, error: saving.error ?? removing.error, isPending: saving.isPending }}
      verb="Keep it"
      beside={source && <Remove removing={removing} />}
    >
      {!source && <Key value={key} set={setKey} />}
      <label className="field">
        <span>Address</span>
        <input
          className="input mono"
          required
          placeholder="postgresql://reader@db.example/school"
          value={url}
          onChange={(event) => setUrl(event.target.value)}
        />
        <small>PostgreSQL, MariaDB or SQLite. Give it a user that may do no more than is needed.</small>
      </label>
      <label className="field">
        <span>Password</span>
        <input
          className="input"
          type="password"
          autoComplete="off"
          placeholder={source?.hasPassword ? 'stays as it is' : ''}
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
      </label>
    </FormDialog>
  );
}

const WORDS: Record<Kind, { title: string; one: string; words: string; sql: string }> = {
  queries: {
    title: 'Queries',
    one: 'query',
    words: 'What QUERY nodes may read, each under a key. Parameters stand in the SQL as :name.',
    sql: 'SELECT id, name FROM students WHERE status = :status',
  },
  actions: {
    title: 'Actions',
    one: 'action',
    words: 'What ACTION nodes may change, each under a key. Several statements are one transaction.',
    sql: 'UPDATE students SET status = :status WHERE id = :id',
  },
};

export function Statements({ kind }: { kind: Kind }) {
  const [open, setOpen] = useState<Statement | 'new' | null>(null);
  const { title, one, words } = WORDS[kind];
  const pages = usePages<Statement>([kind], (cursor) =>
    kind === 'queries'
      ? got(api.GET('/api/queries', { params: { query: { cursor, limit: 100 } } }))
      : got(api.GET('/api/actions', { params: { query: { cursor, limit: 100 } } })),
  );
  return (
    <Kept
      title={title}
      one={one}
      words={words}
      columns={['Key', 'On', 'SQL']}
      error={pages.error}
      begin={() => setOpen('new')}
      rows={pages.rows.map((each) => (
        <tr key={`${each.instituteId} ${each.key}`}>
          <td>
            <code>{each.key}</code>
          </td>
          <td>{each.dataSource}</td>
          <td>
            <code className="sql">{sqlOf(each)}</code>
          </td>
          <td>
            <button
              type="button"
              className="button small"
              aria-label={`Change ${each.key}`}
              onClick={() => setOpen(each)}
            >
              Change
            </button>
          </td>
        </tr>
      ))}
    >
      {open && (
        <StatementDialog kind={kind} statement={open === 'new' ? null : open} close={() => setOpen(null)} />
      )}
    </Kept>
  );
}

interface StatementProps {
  readonly kind: Kind;
  readonly statement: Statement | null;
  readonly close: () => void;
}

function StatementDialog({ kind, statement, close }: StatementProps) {
  const [key, setKey] = useState(statement?.key ?? '');
  const [dataSource, setDataSource] = useState(statement?.dataSource ?? '');
  const [sql, setSql] = useState(statement ? sqlOf(statement) : '');
  const done = useDone(kind, close);
  const saving = useMutation({
    mutationFn: () =>
      saved(kind, statement, key, { dataSource, sql: kind === 'queries' ? sql : parted(sql) }),
    onSuccess: () => done('Kept'),
  });
  const removing = useMutation({
    mutationFn: () => {
      const where = at(statement as Statement);
      return kind === 'queries'
        ? got(api.DELETE('/api/queries/{key}', where))
        : got(api.DELETE('/api/actions/{key}', where));
    },
    onSuccess: () => done('Removed'),
  });
  const { one, sql: example } = WORDS[kind];
  return (
    <FormDialog
      title={statement ? `Change ${statement.key}` : `New ${one}`}
      wide
      close={close}
      acting={{ mutate: saving.mutate, error: saving.error ?? removing.error, isPending: saving.isPending }}
      verb="Keep it"
      beside={statement && <Remove removing={removing} />}
    >
      <div className="halves">
        {!statement && <Key value={key} set={setKey} />}
        <label className="field">
          <span>Data source</span>
          <input
            className="input mono"
            required
            value={dataSource}
            onChange={(event) => setDataSource(event.target.value)}
          />
        </label>
      </div>
      <label className="field">
        <span>SQL</span>
        <textarea
          className="input mono"
          rows={6}
          required
          spellCheck={false}
          placeholder={example}
          value={sql}
          onChange={(event) => setSql(event.target.value)}
        />
        {kind === 'actions' && <small>An empty line stands between two statements.</small>}
      </label>
    </FormDialog>
  );
}

function saved(kind: Kind, statement: Statement | null, key: string, typed: object): Promise<Statement> {
  if (statement) {
    const body = { ...carried(statement), ...typed } as never;
    const where = at(statement);
    return kind === 'queries'
      ? got(api.PUT('/api/queries/{key}', { ...where, body }))
      : got(api.PUT('/api/actions/{key}', { ...where, body }));
  }
  const body = { key, ...typed } as never;
  return kind === 'queries'
    ? got(api.POST('/api/queries', { body }))
    : got(api.POST('/api/actions', { body }));
}

/** What the form does not show, and a change must not lose. */
function carried(statement: Statement): object {
  const { description, paramsSchema, timeoutSeconds } = statement;
  const more = 'resultKey' in statement ? { resultKey: statement.resultKey, maxRows: statement.maxRows } : {};
  return { description, paramsSchema, timeoutSeconds, ...more };
}

function sqlOf(statement: Statement): string {
  return typeof statement.sql === 'string' ? statement.sql : statement.sql.join('\n\n');
}

function parted(sql: string): string[] {
  return sql
    .split(/\n\s*\n/)
    .map((each) => each.trim())
    .filter(Boolean);
}

function Key({ value, set }: { value: string; set: (key: string) => void }) {
  return (
    <label className="field">
      <span>Key</span>
      <input
        className="input mono"
        required
        value={value}
        placeholder="what definitions call it"
        onChange={(event) => set(event.target.value)}
      />
    </label>
  );
}

function Remove({ removing }: { removing: { mutate: () => void; isPending: boolean } }) {
  return (
    <button
      type="button"
      className="button harm"
      disabled={removing.isPending}
      onClick={() => removing.mutate()}
    >
      Remove
    </button>
  );
}

/** Where it is, and that it is still as it was seen. */
function at({ key, version }: { key: string; version: number }) {
  return { params: { path: { key }, query: {} }, headers: { 'If-Match': `"${version}"` } };
}

function useDone(name: string, close: () => void) {
  const queries = useQueryClient();
  return async (words: string) => {
    say(words);
    await queries.invalidateQueries({ queryKey: [name] });
    close();
  };
}
