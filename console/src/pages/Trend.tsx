import { useQuery } from '@tanstack/react-query';
import { api, got } from '../api/client';
import { heading, MINUTES, STRETCHES, trendOf } from './trend';

interface Props {
  readonly version: number;
  readonly node: string;
  /** Of all groups, if left out. */
  readonly group?: string | null;
}

/** What was late or failed there in the last hour, as bars and in a word. */
export function Trend({ version, node, group }: Props) {
  const { data } = useQuery({
    queryKey: ['trend', version, node, group],
    queryFn: async () => {
      const now = Date.now();
      const from = new Date(now - STRETCHES * MINUTES * 60_000).toISOString();
      const query = { from, limit: 1000, ...(group ? { groupHash: group } : {}) };
      const page = await got(
        api.GET('/workflows/{versionId}/aggregates', { params: { path: { versionId: version }, query } }),
      );
      return trendOf(page.items, node, now);
    },
    refetchInterval: 60_000,
  });
  if (!data) return null;
  const most = Math.max(1, ...data);
  const word = heading(data);
  return (
    <span className="trend">
      <svg
        viewBox={`0 0 ${STRETCHES * 5} 16`}
        role="img"
        aria-label={`Late or failed in the last hour, every ${MINUTES} minutes: ${data.join(', ')}`}
      >
        {data.map((count, at) => {
          const height = count ? Math.max(2, (count / most) * 16) : 1;
          const className = count ? 'some' : 'none';
          // biome-ignore lint/suspicious/noArrayIndexKey: stretches of time have no names but their places
          return <rect key={at} className={className} x={at * 5} y={16 - height} width="4" height={height} />;
        })}
      </svg>
      <span className="quiet">{word === 'quiet' ? 'quiet for an hour' : word}</span>
    </span>
  );
}
