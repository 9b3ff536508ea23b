import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { YesReason } from '../asks/ask.ts';
import type { NoReason } from './verdict.ts';

const YES: Readonly<Record<YesReason, true>> = {
  named: true,
  'search-match': true,
  auto: true,
  'typed-auto': true,
  'reloader-config': true,
  'auto-reload-all': true,
};
const NO: Readonly<Record<NoReason, true>> = {
  'kind-ignored': true,
  'source-ignored': true,
  excluded: true,
  'auto-false': true,
  'on-change-ignore': true,
  'disabled-by-label': true,
  'left-out': true,
  'not-used': true,
  'search-without-match': true,
  'not-asked': true,
  'invalid-annotation': true,
};

const page = readFileSync(new URL('../../../docs/reasons.md', import.meta.url), 'utf8');

/** The words of a table whose other cells are all filled in. */
function words(heading: string, cells: number): readonly (string | undefined)[] {
  const section = page.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const row = new RegExp(`^\\| \`([a-z-]+)\` \\|( \\S[^|]+\\|){${cells}}$`, 'gm');
  return Array.from(section.matchAll(row), ([, word]) => word);
}

test('docs/reasons.md explains every reason, and no other', () => {
  expect(words('The workload is reloaded', 1)).toEqual(Object.keys(YES));
  expect(words('The workload is not reloaded', 2)).toEqual(Object.keys(NO));
});
