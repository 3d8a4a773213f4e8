import { isObject, type JsonObject } from '../graph/flow';
import { eventsOf } from '../graph/says';
import { At } from './fields';
import { OrderTable } from './OrderTable';
import { SchemaForm } from './SchemaForm';
import { resolved, type Schema } from './schema';

interface Props {
  readonly schema: Schema;
  readonly value: JsonObject;
  readonly change: (value: JsonObject) => void;
}

const CARDS = [
  ['apiCall', 'API call', 'Calls a service, and waits for what it sends back.'],
  ['kafkaEvent', 'Kafka event', 'Waits for a message on a topic.'],
] as const;

const STRATEGIES = [
  ['all', '● ●', 'Every enabled event.'],
  ['any', '● ○', 'The first that comes.'],
  ['required_only', '◉ ○', 'Those marked as required.'],
  ['custom', '{ }', 'Those you name, or a condition.'],
] as const;

/** The `wait_events` node: what it waits for, when it goes on, and what if nothing comes. */
export function WaitPanel({ schema, value, change }: Props) {
  const set = (name: string, now: unknown) => {
    const { [name]: _, ...rest } = value;
    change(now === undefined ? rest : { ...value, [name]: now });
  };
  const strategy = String(value.aggregationStrategy ?? 'all');
  const part = (name: string): Schema => resolved(schema.properties?.[name] ?? {}, schema);
  return (
    <div className="form wait-panel">
      {CARDS.map(([name, title, says]) => (
        <At key={name} value={`/${name}`}>
          <EventCard
            title={title}
            says={says}
            schema={part(name)}
            root={schema}
            value={value[name]}
            change={(now) => set(name, now)}
          />
        </At>
      ))}
      <SchemaForm
        schema={{ type: 'object', properties: { events: part('events') } }}
        root={schema}
        value={value.events === undefined ? {} : { events: value.events }}
        change={(now) =>
          set('events', Array.isArray(now.events) && now.events.length ? now.events : undefined)
        }
      />
      <fieldset>
        <legend>Goes on with</legend>
        <div className="strategies">
          {STRATEGIES.map(([name, picture, says]) => (
            <label key={name} className="strategy">
              <input
                type="radio"
                name="strategy"
                checked={strategy === name}
                onChange={() => set('aggregationStrategy', name)}
              />
              <span className="picture" aria-hidden="true">
                {picture}
              </span>
              <strong>{name}</strong>
              <span className="quiet">{says}</span>
            </label>
          ))}
        </div>
      </fieldset>
      <SchemaForm
        schema={schema}
        root={schema}
        value={value}
        change={change}
        leaveOut={[
          'apiCall',
          'kafkaEvent',
          'events',
          'aggregationStrategy',
          ...(strategy === 'custom' ? [] : ['requiredEvents', 'completeWhen']),
        ]}
      />
      <Summary value={value} strategy={strategy} />
      <OrderTable config={value} />
    </div>
  );
}

interface CardProps {
  readonly title: string;
  readonly says: string;
  readonly schema: Schema;
  readonly root: Schema;
  readonly value: unknown;
  readonly change: (value: unknown) => void;
}

function EventCard({ title, says, schema, root, value, change }: CardProps) {
  const block = isObject(value) ? value : undefined;
  const enabled = block !== undefined && block.enabled !== false;
  return (
    <section className={enabled ? 'event-card on' : 'event-card'}>
      <label className="inline">
        <input
          type="checkbox"
          role="switch"
          aria-checked={enabled}
          className="choice"
          checked={enabled}
          onChange={() =>
            change(
              enabled
                ? Object.keys(block).length
                  ? { ...block, enabled: false }
                  : undefined
                : { ...block, enabled: true },
            )
          }
        />
        <strong>{title}</strong>
        <span className="quiet">{says}</span>
      </label>
      {enabled && (
        <SchemaForm schema={schema} root={root} value={block} change={change} leaveOut={['enabled']} />
      )}
    </section>
  );
}

function Summary({ value, strategy }: { value: JsonObject; strategy: string }) {
  const events = eventsOf(value);
  const limit = value.timeout === undefined ? '300 s' : String(value.timeout);
  const after = String(value.onTimeout ?? 'fail');
  return (
    <p className="note">
      {events.length === 0
        ? 'No event is enabled: the node is done at once.'
        : `It waits for ${strategy === 'any' ? 'any' : strategy} of ${events.join(', ')}, for ${limit}; then: ${after.replaceAll('_', ' ')}.`}
    </p>
  );
}
