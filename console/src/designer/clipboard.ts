/** Nodes by way of the clipboard, as JSON: also from one workflow, or window, to another. */
import { type Edit, freshId } from '../graph/edit';
import type { Flow, FlowNode } from '../graph/flow';
import { isObject } from '../graph/flow';
import { say } from '../ui/toasts';

export function copied(flow: Flow, id: string): void {
  const node = flow.nodes.find((each) => each.id === id);
  if (!node) return;
  void navigator.clipboard
    .writeText(JSON.stringify({ 'muster/node': node }, null, 2))
    .then(() => say(`Copied ${id}`));
}

/** What pasting does; null: there is no node in the clipboard. */
export async function pasted(flow: Flow): Promise<Edit | null> {
  const node = nodeIn(await navigator.clipboard.readText().catch(() => ''));
  if (!node) return null;
  const { isStartNode: _, onError: __, ...rest } = node.rest;
  return { kind: 'add', nodes: [{ ...node, id: freshId(flow, node.id), rest }], edges: [] };
}

function nodeIn(text: string): FlowNode | null {
  try {
    const value: unknown = JSON.parse(text);
    const node = isObject(value) ? value['muster/node'] : null;
    if (!isObject(node) || !isObject(node.config) || !isObject(node.rest)) return null;
    return { id: String(node.id), type: String(node.type), config: node.config, rest: node.rest };
  } catch {
    return null;
  }
}
