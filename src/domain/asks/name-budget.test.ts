import { expect, test } from 'vitest';
import { workloadOf } from '../../../test/conformance/given.ts';
import { DEFAULT_KEYS, SAP_LISTS } from '../../api/annotations.ts';
import { countNamesOf, MOST_NAMES, MOST_NAMES_PER_NAMESPACE, NameBudget } from './name-budget.ts';

const numbered = (count: number, prefix = 'n'): string =>
  Array.from({ length: count }, (_, n) => `${prefix}${n}`).join(',');
const { named } = DEFAULT_KEYS;

test('the first keep their share, the last gets what is left, and room comes back', () => {
  const budget = new NameBudget();
  for (let n = 0; n < 5; n += 1) expect(budget.hold('shop', `web-${n}`, MOST_NAMES)).toBe(MOST_NAMES);
  expect(budget.sizeOf('shop')).toBe(MOST_NAMES_PER_NAMESPACE);
  expect(budget.hold('shop', 'late', 3000)).toBe(100);
  expect(budget.hold('edge', 'other', 3000)).toBe(3000);
  budget.release('web-0');
  expect(budget.hold('shop', 'late', 3000)).toBe(3000);
  for (const holder of ['late', 'other', 'web-1', 'web-2', 'web-3', 'web-4']) budget.release(holder);
  expect([budget.sizeOf('shop'), budget.sizeOf('edge')]).toEqual([0, 0]);
});

test('a short list always has room', () => {
  const budget = new NameBudget();
  budget.hold('shop', 'web', MOST_NAMES_PER_NAMESPACE);
  expect(budget.hold('shop', 'api', 100)).toBe(100);
});

test('a name counts for each target', () => {
  const budget = new NameBudget();
  expect(budget.hold('shop', 'config', 3000, 300)).toBe(166);
  expect(budget.sizeOf('shop')).toBe(166 * 300);
});

test.each([true, false])('a workload keeps the first 10,000 names of all its lists, under compat: %s', (compat) => {
  const metadata = { [named.ConfigMap]: numbered(9000), [named.Secret]: numbered(9000, 's') };
  const { asks, problems } = workloadOf({ metadata, compat }).intent;
  expect(countNamesOf(asks)).toBe(MOST_NAMES);
  expect(problems.at(0)?.message).toMatch(/^"s1000" is not read: the lists of a workload .* at most 10,000 names/);
  expect(problems.at(-1)).toMatchObject({ path: named.Secret, message: '7995 more elements have problems' });
});

test('names are kept as they are up to the limit', () => {
  const { asks, problems } = workloadOf({ metadata: { [named.ConfigMap]: numbered(MOST_NAMES) } }).intent;
  expect([countNamesOf(asks), problems]).toEqual([MOST_NAMES, []]);
});

test.each([true, false])('a digest is over all that SAP lists, or is not made, under compat: %s', (sapCompat) => {
  const askedOf = (count: number) =>
    workloadOf({ metadata: { [SAP_LISTS.ConfigMap]: numbered(96), [SAP_LISTS.Secret]: numbered(count) }, sapCompat })
      .intent;
  expect(countNamesOf(askedOf(4000).asks)).toBe(4096);
  const { asks, problems } = askedOf(4001);
  expect(countNamesOf(asks)).toBe(0);
  expect(problems).toEqual([
    { path: SAP_LISTS.ConfigMap, message: '4097 sources are listed: expected at most 4096' },
    { path: SAP_LISTS.Secret, message: '4097 sources are listed: expected at most 4096' },
  ]);
});

test('a digest is not made where names of other lists leave no room for all of its names', () => {
  const metadata = { [named.ConfigMap]: numbered(6000), [SAP_LISTS.Secret]: numbered(4001) };
  const { asks, problems } = workloadOf({ metadata }).intent;
  expect(countNamesOf(asks)).toBe(6000);
  expect(asks.filter(({ listed }) => listed)).toEqual([]);
  expect(problems.every(({ path }) => path === SAP_LISTS.Secret)).toBe(true);
});
