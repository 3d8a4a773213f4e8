import { expect, test } from 'vitest';
import { brokenAt } from '../src/pages/broken-json';

test('what is JSON is broken nowhere', () => {
  for (const text of ['{"a": [1, -2.5e3, "x\\n", null, {}]}', '[]', ' true ', '"é"'])
    expect(brokenAt(text)).toBeNull();
});

test('the first character that does not belong there is found', () => {
  const faults: readonly (readonly [string, string])[] = [
    ['{"a": x}', 'x}'],
    ['{"a": 1,}', '}'],
    ['{"a" 1}', '1}'],
    ["{'a': 1}", "'a': 1}"],
    ['[1 2]', '2]'],
    ['{"a": 1} tail', 'tail'],
    ['{"a": {"b": [true, nul]}}', 'nul]}}'],
  ];
  for (const [text, rest] of faults) expect(text.slice(brokenAt(text) ?? 0)).toBe(rest);
});

test('what ends too early is broken at its end', () => {
  for (const text of ['{"a": 1', '[', '']) expect(brokenAt(text)).toBe(text.length);
});
