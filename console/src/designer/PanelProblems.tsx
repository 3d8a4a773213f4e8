import { Worded } from '../ui/Worded';
import type { Found } from './useProblems';

/** What is wrong with what a panel is about. */
export function PanelProblems({ problems }: { readonly problems: readonly Found[] }) {
  if (!problems.length) return null;
  return (
    <ul className="panel-problems">
      {alike(problems).map(({ first, times }) => (
        <li
          key={first.pointer + first.code + first.message}
          className={first.level === 'error' ? 'error-words' : 'warn-words'}
        >
          {first.level === 'error' ? '✕' : '▲'} <Worded text={first.message} />{' '}
          <Worded text={first.suggestion ?? ''} />
          {times > 1 && <span className="quiet"> ({times}×)</span>}
        </li>
      ))}
    </ul>
  );
}

/** What is said several times, once. */
function alike(problems: readonly Found[]): readonly { readonly first: Found; readonly times: number }[] {
  const said = new Map<string, Found[]>();
  for (const each of problems) said.set(each.message, [...(said.get(each.message) ?? []), each]);
  return [...said.values()].flatMap((all) => (all[0] ? [{ first: all[0], times: all.length }] : []));
}
