import { type InfiniteData, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Schemas } from '../api/client';
import { BACK, type Told } from '../api/stream';
import { useLive } from '../api/useLive';
import type { Page, usePages } from '../ui/usePages';

type Execution = Schemas['ExecutionItem'];
type Pages = InfiniteData<Page<Execution>>;

export interface Wanted {
  readonly status: Schemas['ExecutionStatus'] | undefined;
  readonly workflow: string | undefined;
  readonly trigger: string | undefined;
  readonly tag: string | undefined;
  readonly q: string | undefined;
}

/** Whether the list would show it. What words it has only the server knows: then, none is said to. */
function fits(row: Execution, { status, workflow, trigger, tag, q }: Wanted): boolean {
  return (
    !q &&
    (!status || row.status === status) &&
    (!workflow || row.key === workflow || row.workflowId === workflow) &&
    (!trigger || row.triggerId === trigger) &&
    (!tag || row.tags.includes(tag))
  );
}

/** Rows that are shown change in place as the stream tells; what would move them is counted, and shown when asked.
 * Where the stream cannot tell all of it, the list is read again. */
export function useExecutionNews(
  key: readonly unknown[],
  pages: ReturnType<typeof usePages<Execution>>,
  wanted: Wanted,
) {
  const queries = useQueryClient();
  const [told, setTold] = useState<ReadonlySet<string>>(new Set());
  const show = async () => {
    setTold(new Set());
    await pages.show();
  };
  useLive('/api/stream?topics=executions', ({ event, data }: Told) => {
    if (event === BACK) return pages.soon();
    const { items, more } = data as Schemas['ExecutionsChanged'];
    const changed = new Map(items.map((each) => [each.id, each]));
    const known = new Set(pages.rows.map((row) => row.id));
    const unknown = items.filter((row) => !known.has(row.id) && fits(row, wanted));
    queries.setQueryData<Pages>(key, (data) => data && patched(data, changed));
    if (more) pages.soon();
    if (!unknown.length) return;
    // An empty list has nothing that could jump.
    if (pages.rows.length === 0) void show();
    else setTold((before) => new Set([...before, ...unknown.map((row) => row.id)]));
  });
  // What was counted for other filters is not news under these.
  const filters = JSON.stringify(wanted);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is for when they change
  useEffect(() => setTold(new Set()), [filters]);
  return { count: new Set([...told, ...pages.news]).size, show };
}

function patched(data: Pages, changed: ReadonlyMap<string, Execution>): Pages {
  const pages = data.pages.map((page) =>
    page.items.some((row) => changed.has(row.id))
      ? { ...page, items: page.items.map((row) => changed.get(row.id) ?? row) }
      : page,
  );
  return pages.every((page, index) => page === data.pages[index]) ? data : { ...data, pages };
}
