import { isObject, type JsonObject } from '../graph/flow';

/** Two definitions, without what only one of them has because the server adds it by itself. */
export function comparable(before: JsonObject, after: JsonObject): [JsonObject, JsonObject] {
  const [one, other] = [headOf(before), headOf(after)];
  const added = ['key', 'workflowType'].filter(
    (name) => one[name] === undefined || other[name] === undefined,
  );
  const compared = (definition: JsonObject, head: JsonObject) => ({
    ...definition,
    workflow: Object.fromEntries(Object.entries(head).filter(([name]) => !added.includes(name))),
  });
  return [compared(before, one), compared(after, other)];
}

/** The status is the workflow's, and no version's. */
function headOf(definition: JsonObject): JsonObject {
  const { status: _, ...head } = isObject(definition.workflow) ? definition.workflow : {};
  return { durability: 'journal', ...head };
}
