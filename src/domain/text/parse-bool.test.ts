import { expect, test } from 'vitest';
import { parseBool } from './parse-bool.ts';

test('the words of Go and no others', () => {
  for (const text of ['1', 't', 'T', 'TRUE', 'true', 'True']) expect(parseBool(text)).toBe(true);
  for (const text of ['0', 'f', 'F', 'FALSE', 'false', 'False']) expect(parseBool(text)).toBe(false);
  for (const text of ['', 'yes', 'no', 'tRUE', ' true', 'on']) expect(parseBool(text)).toBeUndefined();
});
