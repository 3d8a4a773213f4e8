const WORDS: Record<string, (node: string) => string> = {
  EXPECTED_MISSED: (node) => `${node} did not come`,
  SLA_MISSED: (node) => `${node} came late`,
  ORDER_VIOLATION: (node) => `${node} came out of order`,
};

/** What is wrong, as somebody would say it. */
export function whatOf({ reason, node }: { reason: string; node: string }): string {
  return WORDS[reason]?.(node) ?? `${reason.toLowerCase().replaceAll('_', ' ')} at ${node}`;
}

interface Wanted {
  readonly state?: string | undefined;
  readonly severity?: string | undefined;
  readonly q?: string | undefined;
  readonly workflow?: string | undefined;
  readonly incident?: number | undefined;
}

/** Which alerts a filter means. */
export function alertedAs({ state, severity, q, workflow, incident }: Wanted): string {
  return [
    ...(state ? [state] : []),
    ...(severity ? [severity] : []),
    ...(q ? [`of items like ${q}`] : []),
    ...(workflow ? [`of ${workflow}`] : []),
    ...(incident ? ['of this incident'] : []),
  ].join(' and ');
}
