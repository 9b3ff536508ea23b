import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as annotations from '../../src/api/annotations.ts';

const page = readFileSync(new URL('../../docs/annotations.md', import.meta.url), 'utf8');

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

test('docs/annotations.md mentions every key that the program reads or writes, and no others', () => {
  const keys = new Set(textsIn({ ...annotations }));
  const mentioned = new Set(page.match(/[a-z.-]+\.(?:dev|com)\/[a-z-]+/g));
  expect([...mentioned].sort()).toEqual([...keys].sort());
});
