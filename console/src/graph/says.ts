/** One line about what a node does, from its config: the canvas cannot wait for the server's sentences. */
import type { FlowNode, JsonObject } from './flow';
import { isObject } from './flow';

const SAYS: Record<string, (config: JsonObject) => string | undefined> = {
  QUERY: (config) => text(config.prebuiltKey),
  ACTION: (config) => text(config.actionType),
  SEND_EMAIL: (config) => each(config) ?? text(config.subject) ?? text(config.to),
  SEND_WHATSAPP: (config) => each(config) ?? text(config.message),
  REST_SYNC: (config) => [text(config.method) ?? 'GET', text(config.url)].filter(Boolean).join(' '),
  TRIGGER: (config) =>
    [text(config.triggerType), text(config.triggerEventName ?? config.path ?? config.topic)]
      .filter(Boolean)
      .join(' '),
  DELAY: (config) =>
    config.until
      ? `until ${text(config.until)}`
      : `${text(config.duration) ?? '?'} ${text(config.unit) ?? ''}`,
  LOG: (config) => text(config.message),
  FAIL: (config) => text(config.message),
  KAFKA_PUBLISH: (config) => text(config.topic),
  KAFKA_COMMAND: (config) => text(config.commandTopic),
  EXTERNAL_TASK: (config) => text(config.topic),
  SUB_WORKFLOW: (config) => text(config.workflow),
  APPROVAL: (config) => text(config.title) ?? text(config.message),
  TRANSFORM: (config) => fields(config.transformations) ?? each(config),
  DATA_PROCESSOR: (config) => text(config.dataProcessorType)?.toLowerCase(),
  WAIT_EVENTS: (config) => waits(config),
};

export function says(node: FlowNode): string {
  return SAYS[node.type.toUpperCase()]?.(node.config) ?? '';
}

/** The events that a `wait_events` node has enabled, by name. */
export function eventsOf(config: JsonObject): string[] {
  const enabled = (block: unknown) => isObject(block) && block.enabled !== false;
  const further = Array.isArray(config.events)
    ? config.events.filter(isObject).map((event) => String(event.name ?? ''))
    : [];
  return [
    ...(enabled(config.apiCall) ? ['api_response'] : []),
    ...(enabled(config.kafkaEvent) ? ['kafka_event'] : []),
    ...further,
  ];
}

function waits(config: JsonObject): string {
  const events = eventsOf(config);
  if (!events.length) return 'no event is enabled';
  return `${text(config.aggregationStrategy) ?? 'all'} of ${events.join(', ')}`;
}

function each(config: JsonObject): string | undefined {
  return config.on === undefined ? undefined : `for each of ${text(config.on) ?? 'a list'}`;
}

function fields(value: unknown): string | undefined {
  if (!Array.isArray(value) || !value.length) return undefined;
  return value.map((part) => (isObject(part) ? String(part.field ?? '?') : '?')).join(', ');
}

function text(value: unknown): string | undefined {
  if (typeof value === 'string' && value) return value;
  return typeof value === 'number' ? String(value) : undefined;
}
