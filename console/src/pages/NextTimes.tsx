import { useQuery } from '@tanstack/react-query';
import { Problem } from '../ui/Problem';
import { Time } from '../ui/Time';
import { useSettled } from '../ui/useSettled';
import { clocksChange, inZone, nextTimes, type When, whenOf } from './schedule-times';

/** The next five times of a schedule, saved or being typed: in its zone and in the viewer's. */
export function NextTimes({ when }: { when: When }) {
  const asked = useSettled(JSON.stringify(whenOf(when)));
  const { data, error } = useQuery({
    queryKey: ['schedules', 'next', asked],
    queryFn: () => nextTimes(JSON.parse(asked) as When, 5),
    placeholderData: (before) => before,
    refetchInterval: 60_000,
  });
  if (error) return <Problem error={error} />;
  if (!data) return null;
  if (!data.length) return <p className="quiet">It never fires again.</p>;
  return (
    <section className="stack" aria-label="The next five times">
      <table className="times">
        <thead>
          <tr>
            <th scope="col">In {when.timezone}</th>
            <th scope="col">For you</th>
            <th scope="col">From now</th>
          </tr>
        </thead>
        <tbody>
          {data.map((each) => (
            <tr key={each}>
              <td>{inZone(each, when.timezone)}</td>
              <td>{inZone(each)}</td>
              <td>
                <Time at={each} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {clocksChange(data) && (
        <p className="warn-words">▲ Between these the clocks are changed in {when.timezone}.</p>
      )}
    </section>
  );
}
