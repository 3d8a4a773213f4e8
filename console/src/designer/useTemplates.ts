import { useQuery } from '@tanstack/react-query';
import { api, got, type Schemas } from '../api/client';
import { freshId } from '../graph/edit';
import type { Flow, FlowNode } from '../graph/flow';

export type Template = Schemas['TemplateRow'];

const NONE: readonly Template[] = [];
const MARK = 'template:';

export function useTemplates(): readonly Template[] {
  const { data } = useQuery({
    queryKey: ['templates', 'palette'],
    queryFn: () => got(api.GET('/api/workflow/node-templates', { params: { query: { limit: 200 } } })),
    staleTime: 60_000,
  });
  return data?.items ?? NONE;
}

/** How a template is named where types are: when it is dragged, or clicked. */
export function templated(template: Template): string {
  return MARK + template.id;
}

/** A node of a type, or one that follows a template and has set nothing of its own. */
export function madeNode(flow: Flow, what: string, templates: readonly Template[]): FlowNode {
  const template = templates.find((each) => templated(each) === what);
  if (!template) return { id: freshId(flow, what), type: what, config: {}, rest: {} };
  const { id, nodeType: type } = template;
  return { id: freshId(flow, type), type, config: {}, rest: { nodeTemplateId: id } };
}
