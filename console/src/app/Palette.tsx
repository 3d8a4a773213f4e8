import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import { api, got } from '../api/client';
import { useMay } from '../api/me';
import { useStore } from '../api/store';
import { Dialog } from '../ui/Dialog';
import { type Offer, Picker } from '../ui/Picker';
import { Status } from '../ui/Status';
import { paletteOpen } from './palette-state';
import { PLACES } from './places';
import { chooseTheme } from './theme';

interface Found extends Offer {
  readonly go: () => void;
}

/** ⌘K: a page, a workflow, an execution by its id or by what it is about, an item by its key, an action. */
export function Palette() {
  const open = useStore(paletteOpen);
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        paletteOpen.set(!paletteOpen.get());
      }
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
  return (
    <Dialog open={open} close={() => paletteOpen.set(false)} title="Find or do">
      <Finder />
    </Dialog>
  );
}

function Finder() {
  const [text, type] = useState('');
  const found = useFound(text.trim());
  return (
    <Picker
      label="A page, a workflow, an execution’s id or key, an item, an action"
      text={text}
      type={type}
      found={found}
      take={(one) => {
        paletteOpen.set(false);
        one.go();
      }}
    />
  );
}

function useFound(text: string): readonly Found[] {
  const [, go] = useLocation();
  const mayEdit = useMay('editor');
  const searched = text.length > 1;
  const workflows = useQuery({
    queryKey: ['palette', 'workflows', text],
    queryFn: () => got(api.GET('/api/workflow', { params: { query: { q: text, limit: 6 } } })),
    enabled: searched,
    placeholderData: (before) => before,
  }).data;
  const executions = useQuery({
    queryKey: ['palette', 'executions', text],
    queryFn: () => executionsLike(text),
    enabled: searched,
    placeholderData: (before) => before,
  }).data;
  const items = useQuery({
    queryKey: ['palette', 'items', text],
    queryFn: () => got(api.GET('/items', { params: { query: { q: text, limit: 5 } } })),
    enabled: searched,
    placeholderData: (before) => before,
  }).data;
  return useMemo(() => {
    const fixed: Found[] = [
      ...PLACES.map((place) => ({
        key: place.path,
        kind: 'Page',
        title: place.title,
        go: () => go(place.path),
      })),
      ...(mayEdit
        ? [{ key: 'new', kind: 'Action', title: 'New workflow', go: () => go('/workflows/new') }]
        : []),
      {
        key: 'failed',
        kind: 'Action',
        title: 'Executions that failed',
        go: () => go('/executions?status=FAILED'),
      },
      ...(['light', 'dark', 'system'] as const).map((each) => ({
        key: `theme-${each}`,
        kind: 'Action',
        title: `Colours: ${each}`,
        go: () => chooseTheme(each),
      })),
    ];
    const named = fixed.filter((one) => String(one.title).toLowerCase().includes(text.toLowerCase()));
    const flows = (searched ? workflows?.items : []) ?? [];
    const runs = (searched ? executions : []) ?? [];
    return [
      ...flows.map((each) => ({
        key: each.id,
        kind: 'Workflow',
        title: each.name,
        go: () => go(`/workflows/${encodeURIComponent(each.key)}`),
      })),
      ...runs.map((each) => ({
        key: each.id,
        kind: 'Execution',
        title: (
          <>
            <Status of={each.status} quiet /> {each.key} <span className="quiet">{each.id}</span>
          </>
        ),
        go: () => go(`/executions/${each.id}`),
      })),
      ...((searched ? items?.items : []) ?? []).map((each) => ({
        key: `item-${each.runId}`,
        kind: 'Item',
        title: (
          <>
            <Status of={each.status} quiet /> {each.correlationKey}{' '}
            <span className="quiet">{each.workflowKey}</span>
          </>
        ),
        go: () => go(`/items/${encodeURIComponent(each.correlationKey)}`),
      })),
      ...named,
    ];
  }, [text, searched, workflows, executions, items, go, mayEdit]);
}

const ID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/i;

async function executionsLike(text: string) {
  if (ID.test(text)) {
    const one = await got(api.GET('/api/workflow/executions/{id}', { params: { path: { id: text } } })).catch(
      () => null,
    );
    return one ? [one] : [];
  }
  const [byWords, byKey] = await Promise.all([
    got(api.GET('/api/workflow/executions', { params: { query: { q: text, limit: 5 } } })),
    got(api.GET('/api/workflow/executions', { params: { query: { idempotencyKey: text, limit: 5 } } })),
  ]);
  return [...new Map([...byWords.items, ...byKey.items].map((each) => [each.id, each])).values()];
}
