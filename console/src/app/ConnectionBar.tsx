import { lostSince } from '../api/connection';
import { useStore } from '../api/store';
import { useNow } from '../ui/Time';
import { exactly, lengthOf } from '../ui/time';

export function ConnectionBar() {
  const since = useStore(lostSince);
  return since ? <Bar since={since} /> : null;
}

function Bar({ since }: { since: Date }) {
  const now = useNow();
  return (
    <div className="lost" role="status" title={exactly(since)}>
      <span aria-hidden="true">▲ </span>
      The server has not answered for {lengthOf(Math.max(1000, now.getTime() - since.getTime()))}. What you
      see may be old; it is tried again by itself.
    </div>
  );
}
