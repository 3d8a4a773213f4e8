/** How often something went wrong at a node lately, stretch by stretch. */
import type { Schemas } from '../api/client';

type Bucket = Pick<Schemas['BucketRow'], 'node' | 'bucketStart' | 'late' | 'failed'>;

export const STRETCHES = 12;
export const MINUTES = 5;

/** From the oldest to the one that goes on now. */
export function trendOf(buckets: readonly Bucket[], node: string, now: number): readonly number[] {
  const counts = Array.from({ length: STRETCHES }, () => 0);
  for (const bucket of buckets) {
    const ago = Math.floor((now - Date.parse(bucket.bucketStart)) / (MINUTES * 60_000));
    const at = STRETCHES - 1 - Math.max(0, ago);
    if (bucket.node === node && at >= 0) counts[at] = (counts[at] ?? 0) + bucket.late + bucket.failed;
  }
  return counts;
}

/** In a word: the latter half against the former. */
export function heading(counts: readonly number[]): 'quiet' | 'rising' | 'falling' | 'steady' {
  const sum = (part: readonly number[]) => part.reduce((total, each) => total + each, 0);
  const [before, lately] = [sum(counts.slice(0, counts.length / 2)), sum(counts.slice(counts.length / 2))];
  if (before + lately === 0) return 'quiet';
  if (lately > before * 1.2) return 'rising';
  return lately < before * 0.8 ? 'falling' : 'steady';
}
