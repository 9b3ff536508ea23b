import { describe, expect, test } from 'vitest';
import { parseSettings } from '../../src/config/parse-settings.ts';

function selectorFrom(argv: readonly string[]): string | undefined {
  const parsed = parseSettings(argv, {});
  return parsed.ok ? (parsed.settings.resourceLabelSelector ?? '') : undefined;
}

const FLAG = '--resource-label-selector';

/** Values of the flag in order, and the selector that comes of it; undefined: refused. */
const SELECTORS: readonly (readonly [string, readonly string[], string | undefined])[] = [
  ['a pair', ['k=v'], 'k=v'],
  ['two pairs in one value', ['k=v,k2=v2'], 'k=v,k2=v2'],
  ['the flag twice', ['k=v', 'k2=v2'], 'k=v,k2=v2'],
  ['colon', ['k:v'], 'k=v'],
  ['colon and star', ['k:*'], 'k'],
  ['equals and star', ['k=*'], 'k'],
  ['parts after a second colon are dropped', ['k:v:w'], 'k=v'],
  ['set, quoted', ['"k in (a,b)"'], 'k in (a,b)'],
  ['not there', ['!k'], '!k'],
  ['other than', ['k!=v'], 'k!=v'],
  ['nothing', [], ''],
  ['no selector', ['k in a'], undefined],
  ['no key', ['=v'], undefined],
  ['no label value', ['k=-v-'], undefined],
];

describe.each([
  { mode: 'default', extra: [] },
  { mode: 'compat', extra: ['--compat=stakater'] },
])('$mode', ({ extra }) => {
  test.each(SELECTORS)('%s: %j', (_title, values, selector) => {
    expect(selectorFrom([...extra, ...values.map((value) => `${FLAG}=${value}`)])).toBe(selector);
  });
});

test('pairs with colons in one quoted element: the end is lost under compat only', () => {
  expect(selectorFrom([`${FLAG}="a:b,c:d"`])).toBe('a=b,c=d');
  expect(selectorFrom(['--compat=stakater', `${FLAG}="a:b,c:d"`])).toBe('a=b,c');
});

test('star and a further pair in one quoted element is fatal under compat only', () => {
  expect(selectorFrom([`${FLAG}="a=*,b=c"`])).toBe('a,b=c');
  expect(selectorFrom(['--compat=stakater', `${FLAG}="a=*,b=c"`])).toBeUndefined();
});
