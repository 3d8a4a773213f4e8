const WORDS: Record<string, (node: string) => string> = {
  EXPECTED_MISSED: (node) => `${node} did not come`,
  SLA_MISSED: (node) => `${node} came late`,
  ORDER_VIOLATION: (node) => `${node} came out of order`,
};

/** What is wrong, as somebody would say it. */
export function whatOf({ reason, node }: { reason: string; node: string }): string {
  return WORDS[reason]?.(node) ?? `${reason.toLowerCase().replaceAll('_', ' ')} at ${node}`;
}
