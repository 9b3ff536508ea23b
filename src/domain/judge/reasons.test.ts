import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { NO_REASONS, YES_REASONS } from './reasons.ts';

const page = readFileSync(new URL('../../../docs/reasons.md', import.meta.url), 'utf8');
const rows = (heading: string): readonly string[] =>
  (page.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '').split('\n').filter((line) => line.startsWith('| `'));

test('docs/reasons.md is the table of reasons', () => {
  expect(rows('The workload is reloaded')).toEqual(
    Object.entries(YES_REASONS).map(([word, text]) => `| \`${word}\` | ${text} |`),
  );
  expect(rows('The workload is not reloaded')).toEqual(
    Object.entries(NO_REASONS).map(([word, { text, cure }]) => `| \`${word}\` | ${text} | ${cure} |`),
  );
});
