import { beforeAll, describe, expect, test } from 'vitest';
import type { KindName } from '../../../src/api/kinds.ts';
import type { ReloaderConfigSpec } from '../../../src/api/reloader-config/spec-fields.ts';
import type { ReloaderConfigStatus } from '../../../src/api/reloader-config/status-fields.ts';
import { templateIn } from '../../support/audit.ts';
import type { Controller } from '../../support/controller.ts';
import { podUsing, type SourceName, variable } from '../../support/workloads.ts';
import { explainer } from '../cli/explained.ts';
import { AUTO, marksOf } from '../reloader/moves.ts';
import { type ConfigWorld, change, configWorld, type Shop } from './config-world.ts';
import { isReady } from './restart-world.ts';

// What the end-to-end suite of why-xn/reloader-operator expects of that operator, case by case, and what Attune does without a
// quiet period. The suites of that program for its flags have their like in test/e2e/reloader.

let world: ConfigWorld;
let shop: Shop;
let controller: Controller;

beforeAll(async () => {
  world = await configWorld({ kinds: ['ReloaderConfig', 'Pod'], flags: ['--quiet-period=0s'] });
  ({ shop } = world);
  controller = await world.start();
  return () => world[Symbol.asyncDispose]();
});

/** `Secret/a`. */
type Source = `${SourceName['kind']}/${string}`;

interface Target {
  readonly kind?: KindName;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly uses?: readonly Source[];
  readonly mounts?: readonly Source[];
}

/** One case. Names begin with `$`, which becomes a prefix of its own. */
interface Case {
  readonly what: string;
  readonly targets: Readonly<Record<string, Target>>;
  readonly configs?: Readonly<Record<string, ReloaderConfigSpec>>;
  /** Sources that carry the match annotation. */
  readonly match?: readonly Source[];
  /** The source that changes, and how often each target was rolled by then. */
  readonly changes: readonly (readonly [Source, Readonly<Record<string, number>>])[];
  /** How the changes are marked in the templates that were rolled. */
  readonly marked?: 'env-vars' | 'annotations';
  /** What the configs say in the end. */
  readonly status?: Readonly<Record<string, object>>;
}

const deployment = (name: string) => ({ kind: 'Deployment', name });
const watching = (...secrets: string[]): ReloaderConfigSpec => ({
  watchedResources: { secrets },
  targets: [deployment('$web')],
});
const SECRET_LIST = 'secret.reloader.stakater.com/reload';
const CONFIG_MAP_LIST = 'configmap.reloader.stakater.com/reload';
const SEARCH = { 'reloader.stakater.com/search': 'true' };
const counted = (...names: string[]) => ({
  reloadCount: 1,
  lastReloadTime: expect.stringMatching(/^\d{4}-.*Z$/),
  targetStatus: names.map((name) => ({ name, reloadCount: 1 })),
});

const BY_CONFIG: readonly Case[] = [
  {
    what: 'a Secret, a Deployment, env-vars',
    targets: { $web: { uses: ['Secret/$s'] } },
    configs: { $rc: { ...watching('$s'), reloadStrategy: 'env-vars' } },
    changes: [['Secret/$s', { $web: 1 }]],
    marked: 'env-vars',
    status: { $rc: counted('$web') },
  },
  {
    what: 'a ConfigMap, a Deployment, env-vars',
    targets: { $web: { uses: ['ConfigMap/$c'] } },
    configs: { $rc: { watchedResources: { configMaps: ['$c'] }, targets: [deployment('$web')] } },
    changes: [['ConfigMap/$c', { $web: 1 }]],
    marked: 'env-vars',
    status: { $rc: counted('$web') },
  },
  {
    what: 'a ConfigMap, a StatefulSet, annotations',
    targets: { $db: { kind: 'StatefulSet', uses: ['ConfigMap/$c'] } },
    configs: {
      $rc: {
        watchedResources: { configMaps: ['$c'] },
        targets: [{ kind: 'StatefulSet', name: '$db' }],
        reloadStrategy: 'annotations',
      },
    },
    changes: [['ConfigMap/$c', { $db: 1 }]],
    marked: 'annotations',
    status: { $rc: counted('$db') },
  },
  {
    what: 'a Secret of two Deployments',
    targets: { $web: { uses: ['Secret/$s'] }, $api: { uses: ['Secret/$s'] } },
    configs: { $rc: { ...watching('$s'), targets: [deployment('$web'), deployment('$api')] } },
    changes: [['Secret/$s', { $web: 1, $api: 1 }]],
    status: { $rc: counted('$web', '$api') },
  },
  {
    what: 'two configs for one Secret',
    targets: { $web: { uses: ['Secret/$s'] }, $api: { uses: ['Secret/$s'] } },
    configs: { $rc: watching('$s'), $rd: { ...watching('$s'), targets: [deployment('$api')] } },
    changes: [['Secret/$s', { $web: 1, $api: 1 }]],
    status: { $rc: counted('$web'), $rd: counted('$api') },
  },
  {
    what: 'a Secret as volume',
    targets: { $web: { mounts: ['Secret/$s'] } },
    configs: { $rc: watching('$s') },
    changes: [['Secret/$s', { $web: 1 }]],
    status: { $rc: counted('$web') },
  },
  {
    what: 'a ConfigMap as volume',
    targets: { $web: { mounts: ['ConfigMap/$c'] } },
    configs: { $rc: { watchedResources: { configMaps: ['$c'] }, targets: [deployment('$web')] } },
    changes: [['ConfigMap/$c', { $web: 1 }]],
    status: { $rc: counted('$web') },
  },
  {
    what: 'a ConfigMap, then a Secret',
    targets: { $web: { mounts: ['Secret/$s', 'ConfigMap/$c'] } },
    configs: { $rc: { watchedResources: { configMaps: ['$c'], secrets: ['$s'] }, targets: [deployment('$web')] } },
    changes: [
      ['ConfigMap/$c', { $web: 1 }],
      ['Secret/$s', { $web: 2 }],
    ],
    status: { $rc: { reloadCount: 2, targetStatus: [{ reloadCount: 2 }] } },
  },
  {
    what: 'a Secret, a StatefulSet, env-vars',
    targets: { $db: { kind: 'StatefulSet', uses: ['Secret/$s'] } },
    configs: { $rc: { ...watching('$s'), targets: [{ kind: 'StatefulSet', name: '$db' }] } },
    changes: [['Secret/$s', { $db: 1 }]],
    marked: 'env-vars',
    status: { $rc: counted('$db') },
  },
  {
    what: 'a ConfigMap, a DaemonSet, env-vars',
    targets: { $ds: { kind: 'DaemonSet', uses: ['ConfigMap/$c'] } },
    configs: { $rc: { watchedResources: { configMaps: ['$c'] }, targets: [{ kind: 'DaemonSet', name: '$ds' }] } },
    changes: [['ConfigMap/$c', { $ds: 1 }]],
    marked: 'env-vars',
    status: { $rc: counted('$ds') },
  },
  {
    what: 'a pausePeriod keeps a second change back',
    targets: { $web: { uses: ['Secret/$s'] } },
    configs: { $rc: { ...watching('$s'), targets: [{ ...deployment('$web'), pausePeriod: '10m' }] } },
    changes: [
      ['Secret/$s', { $web: 1 }],
      ['Secret/$s', { $web: 1 }],
    ],
    status: { $rc: counted('$web') },
  },
  {
    what: 'so it does for a StatefulSet',
    targets: { $db: { kind: 'StatefulSet', uses: ['Secret/$s'] } },
    configs: { $rc: { ...watching('$s'), targets: [{ kind: 'StatefulSet', name: '$db', pausePeriod: '10m' }] } },
    changes: [
      ['Secret/$s', { $db: 1 }],
      ['Secret/$s', { $db: 1 }],
    ],
    status: { $rc: counted('$db') },
  },
  {
    what: 'ignoreResources',
    targets: { $web: { uses: ['Secret/$s', 'Secret/$t'] } },
    configs: { $rc: { ...watching('$s', '$t'), ignoreResources: [{ kind: 'Secret', name: '$s' }] } },
    changes: [
      ['Secret/$s', { $web: 0 }],
      ['Secret/$t', { $web: 1 }],
    ],
  },
  {
    what: 'ignoreResources of one config, with the namespace',
    targets: { $web: { uses: ['Secret/$s'] }, $api: { uses: ['Secret/$s'] } },
    configs: {
      $rc: { ...watching('$s'), ignoreResources: [{ kind: 'Secret', name: '$s', namespace: 'NAMESPACE' }] },
      $rd: { ...watching('$s'), targets: [deployment('$api')] },
    },
    changes: [['Secret/$s', { $web: 0, $api: 1 }]],
  },
  {
    what: 'targeted reloads',
    targets: {
      $a: { uses: ['Secret/$s'] },
      $b: { uses: ['Secret/$t'] },
      $both: { uses: ['Secret/$s', 'Secret/$t'] },
    },
    configs: {
      $rc: {
        watchedResources: { secrets: ['$s', '$t'], enableTargetedReload: true },
        targets: ['$a', '$b', '$both'].map((name) => ({ ...deployment(name), requireReference: true })),
      },
    },
    changes: [
      ['Secret/$s', { $a: 1, $b: 0, $both: 1 }],
      ['Secret/$t', { $a: 1, $b: 1, $both: 2 }],
    ],
  },
  {
    what: 'targeted reloads where the targets do not need a reference',
    targets: { $a: { uses: ['Secret/$s'] }, $b: { uses: ['Secret/$t'] } },
    configs: {
      $rc: {
        watchedResources: { secrets: ['$s', '$t'], enableTargetedReload: true },
        targets: ['$a', '$b'].map((name) => ({ ...deployment(name), requireReference: false })),
      },
    },
    changes: [['Secret/$s', { $a: 1, $b: 1 }]],
  },
];

const BY_ANNOTATION: readonly Case[] = [
  {
    what: 'a Secret by name',
    targets: { $web: { uses: ['Secret/$s'], annotations: { [SECRET_LIST]: '$s' } } },
    changes: [['Secret/$s', { $web: 1 }]],
  },
  {
    what: 'a ConfigMap by name',
    targets: { $web: { uses: ['ConfigMap/$c'], annotations: { [CONFIG_MAP_LIST]: '$c' } } },
    changes: [['ConfigMap/$c', { $web: 1 }]],
  },
  {
    what: 'auto',
    targets: { $web: { uses: ['Secret/$s'], annotations: AUTO } },
    changes: [['Secret/$s', { $web: 1 }]],
  },
  {
    what: 'auto, a ConfigMap as volume',
    targets: { $web: { mounts: ['ConfigMap/$c'], annotations: AUTO } },
    changes: [['ConfigMap/$c', { $web: 1 }]],
  },
  {
    what: 'auto, a DaemonSet',
    targets: { $ds: { kind: 'DaemonSet', uses: ['Secret/$s'], annotations: AUTO } },
    changes: [['Secret/$s', { $ds: 1 }]],
  },
  {
    what: 'ignore, and nothing else',
    targets: {
      $web: { uses: ['Secret/$s'], annotations: { 'reloader.stakater.com/ignore': 'true' } },
      // Shows that the change was seen.
      $api: { uses: ['Secret/$s'], annotations: AUTO },
    },
    changes: [['Secret/$s', { $web: 0, $api: 1 }]],
  },
  {
    what: 'a list of two Secrets, of which one is not used',
    targets: { $web: { uses: ['Secret/$s'], annotations: { [SECRET_LIST]: '$s,$t' } } },
    changes: [['Secret/$t', { $web: 1 }]],
  },
  {
    what: 'auto for Secrets',
    targets: {
      $web: { uses: ['Secret/$s', 'ConfigMap/$c'], annotations: { 'secret.reloader.stakater.com/auto': 'true' } },
    },
    changes: [
      ['ConfigMap/$c', { $web: 0 }],
      ['Secret/$s', { $web: 1 }],
    ],
  },
  {
    what: 'auto for ConfigMaps',
    targets: {
      $web: { uses: ['Secret/$s', 'ConfigMap/$c'], annotations: { 'configmap.reloader.stakater.com/auto': 'true' } },
    },
    changes: [
      ['Secret/$s', { $web: 0 }],
      ['ConfigMap/$c', { $web: 1 }],
    ],
  },
  {
    what: 'one Secret of two by name',
    targets: { $web: { uses: ['Secret/$s', 'Secret/$t'], annotations: { [SECRET_LIST]: '$s' } } },
    changes: [
      ['Secret/$t', { $web: 0 }],
      ['Secret/$s', { $web: 1 }],
    ],
  },
  {
    what: 'one ConfigMap of two by name',
    targets: { $web: { uses: ['ConfigMap/$c', 'ConfigMap/$d'], annotations: { [CONFIG_MAP_LIST]: '$c' } } },
    changes: [
      ['ConfigMap/$d', { $web: 0 }],
      ['ConfigMap/$c', { $web: 1 }],
    ],
  },
  {
    what: 'a Secret by name that is not used',
    targets: { $web: { annotations: { [SECRET_LIST]: '$s' } } },
    changes: [['Secret/$s', { $web: 1 }]],
  },
  {
    what: 'search and match',
    targets: { $web: { uses: ['ConfigMap/$c'], annotations: SEARCH } },
    match: ['ConfigMap/$c'],
    changes: [['ConfigMap/$c', { $web: 1 }]],
  },
  {
    what: 'search without match',
    targets: { $web: { uses: ['ConfigMap/$c'], annotations: SEARCH } },
    changes: [['ConfigMap/$c', { $web: 0 }]],
  },
  {
    what: 'auto beside search, without match',
    targets: { $web: { uses: ['ConfigMap/$c'], annotations: { ...AUTO, ...SEARCH } } },
    changes: [['ConfigMap/$c', { $web: 1 }]],
  },
  {
    what: 'match without search',
    targets: { $web: { uses: ['ConfigMap/$c'] } },
    match: ['ConfigMap/$c'],
    changes: [['ConfigMap/$c', { $web: 0 }]],
  },
];

describe('by a ReloaderConfig', () => {
  test.concurrent.each(BY_CONFIG.map((each, at) => ({ ...each, key: `rc${at}` })))('$what', run);
});

describe('by annotations', () => {
  test.concurrent.each(BY_ANNOTATION.map((each, at) => ({ ...each, key: `an${at}` })))('$what', run);
});

async function run({ key, status = {}, ...row }: Case & { readonly key: string }): Promise<void> {
  const { targets, configs = {}, match = [], changes, marked } = namedBy(key, row);
  const used = Object.values(targets).flatMap(({ uses = [], mounts = [] }) => [...uses, ...mounts]);
  for (const source of new Set([...used, ...changes.map(([first]) => first)])) {
    const annotations = match.includes(source) ? { 'reloader.stakater.com/match': 'true' } : {};
    const { kind, name } = parts(source);
    await shop.moves.createSource(kind, name, { greeting: '1' }, annotations);
  }
  for (const [name, target] of Object.entries(targets)) await create(name, target);
  for (const [name, spec] of Object.entries(configs)) await shop.untilKnown(await shop.config(name, spec));
  for (const [source, rolls] of changes) await expectRolls(source, rolls, targets);
  if (marked) for (const [name, { kind }] of Object.entries(targets)) expectMarks(name, kind, marked, changes);
  // Not by JSON: it may hold matchers.
  for (const [config, wanted] of Object.entries(status)) await untilSaid(named(key, config), withNames(key, wanted));
}

/** After a change of this source each target was rolled so often, and not once more. */
async function expectRolls(source: Source, rolls: Readonly<Record<string, number>>, targets: Case['targets']) {
  const { kind, name } = parts(source);
  await change(shop, kind, name);
  for (const [target, count] of Object.entries(rolls)) await shop.untilRolled(target, count, targets[target]?.kind);
  await world.fence();
  const found = Object.keys(rolls).map((target) => [target, shop.rolls(target, targets[target]?.kind)]);
  expect(Object.fromEntries(found)).toEqual(rolls);
}

const named = (key: string, text: string): string => text.replaceAll('$', `${key}-`);
const namedBy = <T>(key: string, row: T): T =>
  JSON.parse(named(key, JSON.stringify(row)).replaceAll('NAMESPACE', shop.name)) as T;

/** The expected status of a config, of which only the names of targets hold names. */
function withNames(key: string, wanted: object): object {
  const { targetStatus = [], ...rest } = wanted as { readonly targetStatus?: readonly object[] };
  return { ...rest, targetStatus: namedBy(key, targetStatus) };
}

function parts(source: Source): SourceName {
  const [kind, name = ''] = source.split('/');
  return { kind: kind as SourceName['kind'], name };
}

/** It takes variables from what it uses, or mounts it. */
function create(name: string, { kind = 'Deployment', annotations = {}, uses = [], mounts = [] }: Target) {
  const volumes = mounts.map((source, at) => ({ name: `v${at}`, ...volumeOf(parts(source)) }));
  const volumeMounts = volumes.map((volume) => ({ name: volume.name, mountPath: `/${volume.name}` }));
  const mounting = { pod: { containers: [{ name: 'app', image: 'app', volumeMounts }], volumes } };
  return shop.target(kind, name, uses.map(parts), { annotations, ...(mounts.length > 0 && mounting) });
}

const volumeOf = ({ kind, name }: SourceName): object =>
  kind === 'Secret' ? { secret: { secretName: name } } : { configMap: { name } };

function expectMarks(
  name: string,
  kind: KindName = 'Deployment',
  by: 'env-vars' | 'annotations',
  changes: Case['changes'],
) {
  const object = shop.audit.latest(kind, name);
  const variables = Object.keys(marksOf(kind, object)).map((mark) => mark.split('/')[1]);
  const changed = changes.map(([source]) => parts(source));
  expect(variables).toEqual(by === 'env-vars' ? changed.map((each) => variable(each.kind, each.name)) : []);
  const { annotations = {} } = (object && templateIn(kind, object).metadata) ?? {};
  if (by === 'annotations') expect(annotations).toHaveProperty(['reloader.stakater.com/last-reloaded-from']);
  // That operator's own, the one thing of these cases that is not there.
  expect(annotations).not.toHaveProperty(['reloader.stakater.com/last-reload']);
}

const statusOf = (config: string): ReloaderConfigStatus =>
  shop.audit.latest('ReloaderConfig', config)?.['status'] ?? {};
const hashes = (config: string): readonly string[] => Object.keys(statusOf(config).watchedResourceHashes ?? {});

async function untilSaid(config: string, wanted: object): Promise<void> {
  const isSaid = (): boolean => {
    try {
      expect(statusOf(config)).toMatchObject(wanted);
      return true;
    } catch {
      return false;
    }
  };
  const says = () => `${config} saying ${JSON.stringify(wanted)}, and not ${JSON.stringify(statusOf(config))}`;
  await shop.audit.until(says, isSaid);
}

describe('what is missing', () => {
  const untilListed = (config: string, ...sources: readonly string[]) =>
    shop.audit.until(
      () => `the hashes of ${config} being of ${sources}: ${hashes(config)}`,
      () => JSON.stringify(hashes(config)) === JSON.stringify(sources.map((each) => `${shop.name}/${each}`)),
    );

  test.concurrent('a target: its sources are listed, and when it comes it is reloaded', async () => {
    await shop.source('Secret', 'orphan');
    await shop.config('orphan', { watchedResources: { secrets: ['orphan'] }, targets: [deployment('orphan')] });
    await untilListed('orphan', 'Secret/orphan');
    expect(statusOf('orphan')).toMatchObject({ reloadCount: 0, watchedResourceCount: 1 });
    await shop.target('Deployment', 'orphan', [{ kind: 'Secret', name: 'orphan' }]);
    await change(shop, 'Secret', 'orphan');
    await shop.untilRolled('orphan');
    await untilSaid('orphan', { reloadCount: 1 });
  });

  test.concurrent('a source: it is listed when it comes', async () => {
    await shop.target('Deployment', 'future');
    await shop.untilKnown(
      await shop.config('future', { watchedResources: { secrets: ['future'] }, targets: [deployment('future')] }),
    );
    expect(hashes('future')).toEqual([]);
    await shop.source('Secret', 'future');
    await untilListed('future', 'Secret/future');
  });

  test.concurrent('a source that goes, and comes again', async () => {
    await shop.source('Secret', 'deleted');
    await shop.target('Deployment', 'deleted', [{ kind: 'Secret', name: 'deleted' }]);
    await shop.config('deleted', { watchedResources: { secrets: ['deleted'] }, targets: [deployment('deleted')] });
    await untilListed('deleted', 'Secret/deleted');
    await shop.moves.deleteSource('Secret', 'deleted');
    await untilListed('deleted');
    await shop.source('Secret', 'deleted');
    await untilListed('deleted', 'Secret/deleted');
  });
});

describe('restart', () => {
  /** A Deployment of two pods that uses the Secret of its name. */
  async function running(name: string, annotations: Readonly<Record<string, string>> = {}) {
    await shop.source('Secret', name);
    const pod = { ...podUsing({ kind: 'Secret', name }, 'envFrom'), terminationGracePeriodSeconds: 0 };
    await shop.moves.create('Deployment', name, { annotations, pod, spec: { replicas: 2 } });
    return untilReady(name);
  }

  /** The two pods of a Deployment that are ready, none of these. */
  const untilReady = (name: string, old: readonly string[] = []) =>
    shop.audit.until(`two pods of ${name}`, () => {
      const ready = shop.audit.all('Pod').filter((pod) => pod.metadata.labels?.['app'] === name && isReady(pod));
      const uids = ready.map(({ metadata }) => metadata.uid);
      return uids.length === 2 && !uids.some((uid) => old.includes(uid)) && uids;
    });

  test.concurrent('by a ReloaderConfig: all pods are others, and the template is as it was', async () => {
    const old = await running('restarted');
    const spec = { watchedResources: { secrets: ['restarted'] }, targets: [deployment('restarted')] };
    await shop.untilKnown(await shop.config('restarted', { ...spec, rolloutStrategy: 'restart' }));
    await change(shop, 'Secret', 'restarted');
    await untilReady('restarted', old);
    await untilSaid('restarted', counted('restarted'));
    expect(shop.rolls('restarted')).toBe(0);
    expect(marksOf('Deployment', shop.audit.latest('Deployment', 'restarted'))).toEqual({});
  });

  test.concurrent('by an annotation, as in that operator: the pods are others by a new template, and explain says so', async () => {
    const annotations = { [SECRET_LIST]: 'by-annotation', 'reloader.stakater.com/rollout-strategy': 'restart' };
    const old = await running('by-annotation', annotations);
    await change(shop, 'Secret', 'by-annotation');
    await untilReady('by-annotation', old);
    expect(shop.rolls('by-annotation')).toBe(1);
    const said = await explainer({ home: world.home, space: shop.name }).inWords('deployment/by-annotation');
    expect(said).toContain('reloader.stakater.com/rollout-strategy has no effect on a Deployment');
  });
});

test.concurrent('it is ready, and serves metrics', async () => {
  expect(await controller.ask('/readyz')).toMatchObject({ status: 200 });
  const { status, body } = await controller.ask('/metrics');
  expect(status).toBe(200);
  expect(body).toContain('reloader_reload_executed_total');
});
