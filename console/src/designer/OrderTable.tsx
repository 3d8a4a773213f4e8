import { useQuery } from '@tanstack/react-query';
import { useContext } from 'react';
import { api, got, type Schemas } from '../api/client';
import type { JsonObject } from '../graph/flow';
import { Problem } from '../ui/Problem';
import { lengthOf } from '../ui/time';
import { useSettled } from '../ui/useSettled';
import { Sample } from './ExpressionInput';

type Row = Schemas['OrderRow'];
type Table = Schemas['OrderTableAnswer'];

const OUTCOMES: Record<Row['outcome'], readonly [tone: string, words: string]> = {
  goes_on: ['good', '✓ goes on'],
  goes_on_warned: ['warn', '▲ goes on, with a warning'],
  fails: ['bad', '✕ fails'],
};

const NOTHING: JsonObject = {};

/** Every order in which the events of a wait may come, and what the engine makes of it. */
export function OrderTable({ config }: { config: JsonObject }) {
  const asked = useSettled(config);
  const context = useSettled(useContext(Sample) ?? NOTHING);
  const { data, error } = useQuery({
    queryKey: ['orders', asked, context],
    queryFn: () => got(api.POST('/api/workflow/order-table', { body: { config: asked, context } })),
    placeholderData: (before) => before,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 10_000,
  });
  return (
    <section className="orders" aria-label="Order table">
      <h3>In every order</h3>
      {error ? <Problem error={error} /> : data && <Orders table={data} />}
    </section>
  );
}

function Orders({ table }: { table: Table }) {
  const kept = new Map(table.events.map((event) => [event.name, event.contextName]));
  return (
    <>
      {table.events.length > 1 && (
        <p className={table.dependsOnOrder ? 'warn-words' : 'quiet'}>
          {table.dependsOnOrder
            ? '▲ What it goes on with depends on what comes first.'
            : 'Whatever comes first, it goes on with the same events.'}
        </p>
      )}
      <table className="times">
        <thead>
          <tr>
            <th scope="col">What comes, in order</th>
            <th scope="col">It then</th>
            <th scope="col">With</th>
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row) => (
            <tr key={`${row.arrivals.join('\n')} ${row.timedOut}`}>
              <td>
                <Arrivals row={row} />
              </td>
              <td>
                <span className={`status bare ${OUTCOMES[row.outcome][0]}`}>{OUTCOMES[row.outcome][1]}</span>
              </td>
              <td>
                {row.outcome === 'fails' ? (
                  <span className="quiet">–</span>
                ) : (
                  row.arrivals.map((name) => kept.get(name) ?? name).join(', ') || (
                    <span className="quiet">nothing</span>
                  )
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {table.leftOff && <p className="quiet">There are more orders than are shown here.</p>}
    </>
  );
}

/** `15 min`, and not `15 min 0 s`. */
function roundly(seconds: number): string {
  return lengthOf(seconds * 1000).replace(/ 0 (s|min|h)$/, '');
}

function Arrivals({ row }: { row: Row }) {
  const last = row.timedOut ? `◷ after ${roundly(row.afterSeconds ?? 0)}` : null;
  const steps = [...row.arrivals, ...(last ? [last] : [])];
  if (!steps.length) return <span className="quiet">no event is enabled</span>;
  return (
    <ol className="arrivals">
      {steps.map((step) => (
        <li key={step} className={step === last ? 'tag over' : 'tag'}>
          {step}
        </li>
      ))}
    </ol>
  );
}
