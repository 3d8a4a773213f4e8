/** How much is new in a list; it is shown when that is asked for. */
export function News({ count, show }: { count: number; show: () => unknown }) {
  if (count === 0) return null;
  return (
    <button type="button" className="button small news" onClick={() => void show()}>
      {count} new or changed: show
    </button>
  );
}
