import type { Schemas } from '../api/client';
import { useNow } from '../ui/Time';
import { exactly, lengthOf } from '../ui/time';
import { lineOf, type Mark, namedOn, placeOn } from './item-marks';

const SHAPES: Record<Mark['kind'], readonly [tone: string, shape: string, word: string]> = {
  came: ['good', '●', 'came'],
  late: ['warn', '▲', 'late or out of order'],
  due: ['wait', '○', 'expected'],
  missed: ['bad', '■', 'missed'],
};

/** One line through time, to scale: what came, what is to come, and how late what was late is. */
export function ItemLine({ item }: { item: Schemas['ItemWhole'] }) {
  const now = useNow();
  const line = lineOf(item, now.getTime());
  const words = line.marks.map(({ kind, node, at }) => `${node} ${SHAPES[kind][2]} ${exactly(new Date(at))}`);
  const present = placeOn(line, now.getTime());
  const rows = namedOn(line);
  return (
    <figure className="item-line">
      <div className="track" role="img" aria-label={words.join('; ') || 'Nothing has come yet'}>
        {line.marks.map((mark) =>
          mark.due === null && mark.kind !== 'missed' ? null : (
            <Late key={mark.id} mark={mark} line={line} now={now.getTime()} />
          ),
        )}
        {present < 100 && <span className="present" style={{ left: `${present}%` }} title="Now" />}
        {line.marks.map((mark, index) => (
          <span
            key={mark.id}
            className={`moment ${SHAPES[mark.kind][0]}`}
            style={{ left: `${placeOn(line, mark.at)}%` }}
            title={words[index]}
          >
            {SHAPES[mark.kind][1]}
          </span>
        ))}
      </div>
      <div className="mark-names" style={{ height: `${1.4 * (Math.max(0, ...rows) + 1)}em` }}>
        {line.marks.map((mark, index) => {
          const at = placeOn(line, mark.at);
          // Towards the middle, so that none leaves the line.
          const across = at > 50 ? { right: `${100 - at}%` } : { left: `${at}%` };
          return (
            <span
              key={mark.id}
              className={`mark-name ${SHAPES[mark.kind][0]}`}
              style={{ ...across, top: `${1.4 * (rows[index] ?? 0)}em` }}
            >
              {mark.node}
            </span>
          );
        })}
      </div>
      <figcaption className="quiet">
        <span>{exactly(new Date(line.from))}</span>
        <span>{lengthOf(line.to - line.from)}</span>
        <span>{exactly(new Date(line.to))}</span>
      </figcaption>
    </figure>
  );
}

/** From when it was due to when it came; of what did not come, until now. */
function Late({ mark, line, now }: { mark: Mark; line: ReturnType<typeof lineOf>; now: number }) {
  const begin = placeOn(line, mark.due ?? mark.at);
  const end = placeOn(line, mark.kind === 'missed' ? now : mark.at);
  return (
    <span
      className={`lateness ${SHAPES[mark.kind][0]}`}
      style={{ left: `${begin}%`, width: `${Math.max(0, end - begin)}%` }}
    />
  );
}
