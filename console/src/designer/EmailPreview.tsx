import { isObject, type JsonObject } from '../graph/flow';
import { useSettled } from '../ui/useSettled';
import { Preview, textOf } from './Preview';

const PARTS = [
  ['To', 'to'],
  ['Subject', 'subject'],
  ['Text', 'body'],
  ['HTML', 'html'],
] as const;

export function EmailPreview({ config }: { config: JsonObject }) {
  const message = messageOf(useSettled(config));
  return (
    <Preview
      parts={PARTS.flatMap(([title, name]) => {
        const text = textOf(message[name]);
        return text ? [{ title, text }] : [];
      })}
    />
  );
}

/** What is sent for an item stands in `forEach`, and the rest beside it. */
function messageOf(config: JsonObject): JsonObject {
  const each = config.forEach;
  if (!isObject(each)) return config;
  return { ...config, ...each, ...(isObject(each.config) ? each.config : {}) };
}
