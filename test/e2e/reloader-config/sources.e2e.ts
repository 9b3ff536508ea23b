import { beforeAll, describe, expect, test } from 'vitest';
import type { ReloaderConfigSpec } from '../../../src/api/reloader-config/spec-fields.ts';
import type { SourceName } from '../../support/workloads.ts';
import { type ConfigWorld, change, configWorld } from './config-world.ts';

let world: ConfigWorld;

beforeAll(async () => {
  world = await configWorld();
  await world.start();
  return () => world[Symbol.asyncDispose]();
});

const deployment = (name: string) => ({ kind: 'Deployment', name });

interface Case {
  readonly what: string;
  /** `x` stands for a name of the case's own. */
  readonly spec: (x: string) => Omit<ReloaderConfigSpec, 'targets'>;
  readonly uses?: (x: string) => readonly SourceName[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly kind?: SourceName['kind'];
  /** The name of the source that changes. */
  readonly source?: (x: string) => string;
  readonly rolls: 0 | 1;
}

const configMap = (name: string): SourceName => ({ kind: 'ConfigMap', name });
const named = (x: string) => ({ watchedResources: { configMaps: [x] } });

const CASES: readonly Case[] = [
  { what: 'a ConfigMap that is named, used or not', spec: named, rolls: 1 },
  { what: 'a Secret', kind: 'Secret', spec: (x) => ({ watchedResources: { secrets: [x] } }), rolls: 1 },
  { what: 'not a Secret of that name', kind: 'Secret', spec: named, rolls: 0 },
  { what: 'a name with a dot is that name', source: (x) => `${x}.conf`, spec: (x) => named(`${x}.conf`), rolls: 1 },
  { what: 'and no other', source: (x) => `${x}-conf`, spec: (x) => named(`${x}.conf`), rolls: 0 },
  { what: 'an expression', source: (x) => `${x}-a`, spec: (x) => named(`${x}-(a|b)`), rolls: 1 },
  { what: 'of the whole name', source: (x) => `${x}-a-more`, spec: (x) => named(`${x}-a|${x}-b`), rolls: 0 },
  {
    what: 'what a selector of labels matches',
    labels: { tier: 'selected' },
    spec: () => ({ watchedResources: { resourceSelector: { matchLabels: { tier: 'selected' } } } }),
    rolls: 1,
  },
  {
    what: 'and nothing else',
    labels: { tier: 'other' },
    spec: () => ({ watchedResources: { resourceSelector: { matchLabels: { tier: 'none-has-it' } } } }),
    rolls: 0,
  },
  {
    what: 'labels that a source must also have',
    labels: { a: '1' },
    spec: (x) => ({ ...named(x), matchLabels: { a: '1' } }),
    rolls: 1,
  },
  { what: 'and does not', labels: { a: '2' }, spec: (x) => ({ ...named(x), matchLabels: { a: '1' } }), rolls: 0 },
  { what: 'all that it uses', uses: (x) => [configMap(x)], spec: () => ({ autoReloadAll: true }), rolls: 1 },
  { what: 'not what it does not use', spec: () => ({ autoReloadAll: true }), rolls: 0 },
  {
    what: 'what is named beside all that it uses',
    spec: (x) => ({ ...named(x), autoReloadAll: true }),
    rolls: 1,
  },
  {
    what: 'what is ignored, though it is named',
    spec: (x) => ({ ...named(x), ignoreResources: [{ kind: 'ConfigMap', name: x }] }),
    rolls: 0,
  },
  {
    what: 'and ignored elsewhere',
    spec: (x) => ({ ...named(x), ignoreResources: [{ kind: 'ConfigMap', name: x, namespace: 'elsewhere' }] }),
    rolls: 1,
  },
];

describe('a change of', () => {
  test.concurrent.each(CASES.map((each, n) => ({ ...each, x: `source-${n}` })))('$what: $rolls', async (c) => {
    const { shop } = world;
    const kind = c.kind ?? 'ConfigMap';
    const source = c.source?.(c.x) ?? c.x;
    await shop.source(kind, source, c.labels);
    await shop.target('Deployment', c.x, c.uses?.(c.x) ?? []);
    await shop.config(c.x, { targets: [deployment(c.x)], ...c.spec(c.x) });
    await change(shop, kind, source);
    if (c.rolls === 1) await shop.untilRolled(c.x);
    else await world.fence();
    expect(shop.rolls(c.x)).toBe(c.rolls);
  });
});
