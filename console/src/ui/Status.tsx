/** Status is colour and shape and word. */
const KINDS: Record<string, readonly [tone: string, shape: string]> = {
  green: ['good', '●'],
  amber: ['warn', '▲'],
  red: ['bad', '■'],
  running: ['run', '◐'],
  started: ['run', '◐'],
  resuming: ['run', '◐'],
  active: ['good', '●'],
  live: ['good', '●'],
  leaving: ['warn', '▲'],
  up: ['good', '●'],
  waiting: ['wait', '◷'],
  queued: ['wait', '◌'],
  pending: ['wait', '◌'],
  retrying: ['warn', '↻'],
  open: ['warn', '▲'],
  ack: ['run', '◉'],
  suppressed: ['still', '‖'],
  resolved: ['good', '✓'],
  published: ['good', '✓'],
  met: ['good', '✓'],
  satisfied: ['good', '✓'],
  missed: ['bad', '■'],
  fired: ['bad', '■'],
  error: ['bad', '✕'],
  reply_received: ['good', '✓'],
  paused: ['still', '‖'],
  inactive: ['still', '‖'],
  draft: ['still', '◇'],
  completed: ['good', '✓'],
  approved: ['good', '✓'],
  done: ['good', '✓'],
  sent: ['good', '✓'],
  redriven: ['good', '✓'],
  skipped: ['still', '↷'],
  failed: ['bad', '✕'],
  rejected: ['bad', '✕'],
  refused: ['bad', '✕'],
  timeout: ['bad', '■'],
  gone: ['bad', '■'],
  down: ['bad', '■'],
  cancelled: ['still', '⊘'],
  expired: ['still', '⊘'],
  dismissed: ['still', '⊘'],
  archived: ['still', '⊘'],
};

export function kindOf(status: string): readonly [tone: string, shape: string] {
  const name = status.toLowerCase();
  if (name.startsWith('waiting')) return ['wait', '◷'];
  return KINDS[name] ?? ['still', '○'];
}

export function wordOf(status: string): string {
  return status.toLowerCase().replaceAll('_', ' ');
}

export function Status({ of, quiet }: { of: string; quiet?: boolean }) {
  const [tone, shape] = kindOf(of);
  return (
    <span className={quiet ? `status ${tone} bare` : `status ${tone}`}>
      <span aria-hidden="true" className="shape">
        {shape}
      </span>
      {wordOf(of)}
    </span>
  );
}
