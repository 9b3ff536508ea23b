import { expect, test } from 'vitest';
import { type Cooldown, cooldownOf, type NamingConfig } from './naming-configs.ts';

const NOW = Date.UTC(2030, 0, 31, 12);
const config = (name: string, cooldownMs?: number, ignoredBecause?: string): NamingConfig => ({
  namespace: 'shop',
  name,
  path: 'spec.targets[0]',
  ignoredBecause,
  overrides: { cooldownMs },
  problems: [],
});

test.each<[string, readonly NamingConfig[], number | undefined, Partial<Cooldown> | undefined]>([
  ['nobody asks for one', [config('a')], NOW / 1000, undefined],
  ['nothing was reloaded yet', [config('a', 60_000)], undefined, { periodMs: 60_000, until: undefined }],
  ['it runs', [config('a', 60_000)], NOW / 1000 - 20, { until: '2030-01-31T12:00:40.000Z' }],
  [
    'the first that counts decides',
    [config('a', 1, 'no'), config('b', 60_000), config('c', 5)],
    undefined,
    {
      by: 'ReloaderConfig shop/b spec.targets[0]',
      periodMs: 60_000,
    },
  ],
])('a cooldown: %s', (_, configs, reloadedAt, expected) => {
  const found = cooldownOf(configs, reloadedAt, NOW);
  if (expected === undefined) expect(found).toBeUndefined();
  else expect(found).toMatchObject(expected);
});
