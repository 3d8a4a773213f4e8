/** Two texts, line by line: what stayed, went and came. */
export interface Line {
  readonly sign: ' ' | '-' | '+';
  readonly text: string;
}

const MOST = 4_000;

export function diffLines(before: string, after: string): Line[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end))
    end += 1;
  const middle = between(old.slice(start, old.length - end), now.slice(start, now.length - end));
  const same = (text: string): Line => ({ sign: ' ', text });
  return [...old.slice(0, start).map(same), ...middle, ...old.slice(old.length - end).map(same)];
}

/** By the longest common subsequence; where that would take long, all of the one and then all of the other. */
function between(old: readonly string[], now: readonly string[]): Line[] {
  if (old.length * now.length > MOST * MOST) {
    return [
      ...old.map((text) => ({ sign: '-' as const, text })),
      ...now.map((text) => ({ sign: '+' as const, text })),
    ];
  }
  const width = now.length + 1;
  const longest = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number) => longest[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] =
        old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push({ sign: ' ', text: old[i] ?? '' });
      i += 1;
      j += 1;
    } else if (j < now.length && (i === old.length || at(i, j + 1) > at(i + 1, j))) {
      lines.push({ sign: '+', text: now[j] ?? '' });
      j += 1;
    } else {
      lines.push({ sign: '-', text: old[i] ?? '' });
      i += 1;
    }
  }
  return lines;
}

/** Only what changed, with a few lines around it. */
export function shortened(lines: readonly Line[], around = 3): (Line | null)[] {
  const near = lines.map((_, index) =>
    lines.slice(Math.max(0, index - around), index + around + 1).some((line) => line.sign !== ' '),
  );
  const shown: (Line | null)[] = [];
  lines.forEach((line, index) => {
    if (near[index]) shown.push(line);
    else if (shown.at(-1) !== null) shown.push(null);
  });
  return shown;
}
