import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useRef } from 'react';
import { Link } from 'wouter';
import { useNarrow } from './useNarrow';

export interface Column<Row> {
  readonly title: string;
  /** A track of a CSS grid, such as `8rem` or `minmax(10rem, 2fr)`. */
  readonly width: string;
  readonly show: (row: Row) => ReactNode;
  /** Left out where the screen is narrow. */
  readonly wide?: boolean;
}

interface Props<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** Those that no longer belong here; they keep their places. */
  readonly gone?: ReadonlySet<string>;
  readonly keyOf: (row: Row) => string;
  /** Where a row leads; its first cell is the link. */
  readonly href?: (row: Row) => string;
  readonly onOpen?: (row: Row) => void;
  readonly more: boolean;
  readonly fetchMore: () => void;
  readonly chosen?: ReadonlySet<string>;
  readonly choose?: (keys: ReadonlySet<string>) => void;
}

const ROW = 44;
/** On a telephone the first cell has a line of its own. */
const TALL_ROW = 66;

/** A table of any length: only the rows in sight exist, and the next page is fetched before it is needed. */
export function List<Row>(props: Props<Row>) {
  const { columns, rows, more, fetchMore, chosen, choose } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const height = useNarrow() ? TALL_ROW : ROW;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 12,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: sizes are measured anew when rows get taller
  useEffect(() => virtual.measure(), [height]);
  const visible = virtual.getVirtualItems();
  const last = visible.at(-1)?.index ?? 0;
  useEffect(() => {
    if (more && last >= rows.length - 20) fetchMore();
  }, [more, last, rows.length, fetchMore]);
  const tracks = [...(choose ? ['1rem'] : []), ...columns.map((column) => column.width)].join(' ');
  const narrow = [
    ...(choose ? ['1rem'] : []),
    ...columns.filter((each) => !each.wide).map((each) => each.width),
  ];
  const style = { '--tracks': tracks, '--narrow-tracks': narrow.join(' ') } as React.CSSProperties;
  return (
    <div
      className="list"
      ref={scroller}
      style={style}
      tabIndex={0}
      role="region"
      aria-label={`${props.label}, scrolls`}
    >
      <div role="table" aria-label={props.label} aria-rowcount={more ? -1 : rows.length + 1}>
        <div role="rowgroup" className="head">
          <div role="row" className="row" aria-rowindex={1}>
            {choose && (
              <div role="columnheader" className="cell">
                <All rows={rows} keyOf={props.keyOf} chosen={chosen ?? new Set()} choose={choose} />
              </div>
            )}
            {columns.map((column) => (
              <div key={column.title} role="columnheader" className={cellClass(column)}>
                {column.title}
              </div>
            ))}
          </div>
        </div>
        <div role="rowgroup" className="rows" style={{ height: virtual.getTotalSize() }}>
          {visible.map((item) => {
            const row = rows[item.index] as Row;
            return (
              <div
                key={props.keyOf(row)}
                role="row"
                aria-rowindex={item.index + 2}
                className={props.gone?.has(props.keyOf(row)) ? 'row gone' : 'row'}
                style={{ transform: `translateY(${item.start}px)` }}
              >
                {choose && <Choice id={props.keyOf(row)} chosen={chosen ?? new Set()} choose={choose} />}
                {columns.map((column, at) => (
                  <div
                    key={column.title}
                    role="cell"
                    className={at === 0 ? `${cellClass(column)} first` : cellClass(column)}
                  >
                    {at === 0 ? <First {...props} row={row} column={column} /> : column.show(row)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function First<Row>({ row, column, href, onOpen }: Props<Row> & { row: Row; column: Column<Row> }) {
  if (href) {
    return (
      <Link href={href(row)} className="row-link">
        {column.show(row)}
      </Link>
    );
  }
  if (!onOpen) return column.show(row);
  return (
    <button type="button" className="row-link" onClick={() => onOpen(row)}>
      {column.show(row)}
    </button>
  );
}

interface Choosing {
  readonly chosen: ReadonlySet<string>;
  readonly choose: (keys: ReadonlySet<string>) => void;
}

function Choice({ id, chosen, choose }: Choosing & { id: string }) {
  const toggle = () => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    choose(next);
  };
  return (
    <div role="cell" className="cell">
      <input
        type="checkbox"
        className="choice"
        aria-label={`Select ${id}`}
        checked={chosen.has(id)}
        onChange={toggle}
      />
    </div>
  );
}

function All<Row>({
  rows,
  keyOf,
  chosen,
  choose,
}: Choosing & { rows: readonly Row[]; keyOf: (row: Row) => string }) {
  const all = rows.length > 0 && rows.every((row) => chosen.has(keyOf(row)));
  return (
    <input
      type="checkbox"
      className="choice"
      aria-label="Select all that are loaded"
      checked={all}
      onChange={() => choose(new Set(all ? [] : rows.map(keyOf)))}
    />
  );
}

function cellClass<Row>(column: Column<Row>): string {
  return column.wide ? 'cell wide-only' : 'cell';
}

/** The shape of a list that is on its way; seen only if that takes a moment. */
export function Skeleton() {
  return (
    <div className="skeleton" aria-hidden="true">
      {Array.from({ length: 8 }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
        <div key={index} />
      ))}
    </div>
  );
}
