/** What stands in a field, and what it means. */
import { useState } from 'react';

export const BROKEN = Symbol('broken');

/** Text, or JSON where it reads as such. */
export function anything(text: string): unknown {
  if (!text.trim()) return undefined;
  if (!/^\s*[[{]/.test(text)) return scalar(text, true);
  try {
    return JSON.parse(text);
  } catch {
    return BROKEN;
  }
}

export function scalar(text: string, numbers: boolean): unknown {
  if (text === '') return undefined;
  return numbers && /^-?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : text;
}

export function isExpression(value: unknown): value is string {
  return typeof value === 'string' && /^[#@$]\{/.test(value);
}

export function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, typeof value === 'object' ? 2 : 0);
}

/** What is being typed, until what it stands for is changed elsewhere: by an undo, or as text. The second of
 * what it gives takes what was typed, and what it means. */
export function useTyped<T>(
  value: unknown,
  begin: (value: unknown) => T,
): [T, (next: T, means: unknown) => void] {
  const now = JSON.stringify(value);
  const [{ typed, known }, keep] = useState(() => ({ typed: begin(value), known: now }));
  if (now !== known) keep({ typed: begin(value), known: now });
  return [typed, (next, means) => keep({ typed: next, known: JSON.stringify(means) })];
}
