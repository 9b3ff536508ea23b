import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import type { ReloaderConfigStatus } from '../../../src/api/reloader-config/status-fields.ts';
import { type FaultProxy, faultProxy } from '../../support/proxy.ts';
import { ApiRefusal, api } from '../../support/sandbox.ts';
import { type ConfigWorld, change, configPath, configWorld, type Shop } from './config-world.ts';

let world: ConfigWorld;
let shop: Shop;
let other: Shop;
let proxy: FaultProxy;

beforeAll(async () => {
  proxy = await faultProxy();
  world = await configWorld({ shops: 2, kinds: ['ReloaderConfig'] });
  [shop, other] = world.shops as [Shop, Shop];
  await world.start({ access: proxy.access, flags: ['--ignored-workload-types=cronjobs'] });
  return () => world[Symbol.asyncDispose]();
});

const deployment = (name: string) => ({ kind: 'Deployment', name });
const watching = (name: string) => ({ watchedResources: { configMaps: [name] }, targets: [deployment(name)] });

/** Each version of its status that the server has stored, oldest first; the first is empty. */
function statuses(name: string, { audit }: Shop = shop): readonly ReloaderConfigStatus[] {
  const all = audit.sightings('ReloaderConfig', name).map(({ object }): ReloaderConfigStatus => object['status'] ?? {});
  return all.filter((status, at) => at === 0 || JSON.stringify(status) !== JSON.stringify(all[at - 1]));
}

const statusOf = (name: string, of?: Shop): ReloaderConfigStatus => statuses(name, of).at(-1) ?? {};
const writes = (name: string): number => statuses(name).length - 1;

const condition = (status: ReloaderConfigStatus, type: string) => status.conditions?.find((each) => each.type === type);

/** Waits until a config is degraded for this reason, or, without one, is not. */
async function untilDegraded(name: string, reason?: string, of: Shop = shop): Promise<readonly string[]> {
  const found = await of.audit.until(`${name} being degraded: ${reason}`, () => {
    const { status, reason: because, message } = condition(statusOf(name, of), 'Degraded') ?? {};
    return (reason ? because === reason : status === 'False') && message;
  });
  return found.split('; ');
}

/** A source, its target and a config that names both, all of this name, and known. */
async function settled(name: string): Promise<void> {
  await shop.source('ConfigMap', name);
  await shop.target('Deployment', name, [{ kind: 'ConfigMap', name }]);
  await shop.config(name, watching(name));
  const isSettled = () => Object.keys(statusOf(name).watchedResourceHashes ?? {}).length === 1;
  await shop.audit.until(`the status of ${name}`, isSettled);
}

test.concurrent('what is missing is named, and what comes later clears it', async () => {
  await shop.config('late', watching('late'));
  expect(await untilDegraded('late', 'TargetNotFound')).toEqual([
    `spec.targets[0]: Deployment "late" does not exist in namespace "${shop.name}"`,
    `spec.watchedResources.configMaps: ConfigMap "late" does not exist in namespace "${shop.name}"`,
  ]);
  await shop.target('Deployment', 'late');
  await untilDegraded('late', 'ResourceNotFound');
  await shop.source('ConfigMap', 'late');
  await untilDegraded('late');
  const { conditions, observedGeneration } = statusOf('late');
  expect(conditions?.map(({ type, status, observedGeneration: of }) => [type, status, of])).toEqual([
    ['Available', 'True', observedGeneration],
    ['Progressing', 'False', observedGeneration],
    ['Degraded', 'False', observedGeneration],
  ]);
});

test.concurrent('bad input is told with its fields, and the valid rest of it works', async () => {
  await shop.source('ConfigMap', 'good');
  await shop.target('Deployment', 'good');
  await shop.config('bad', {
    watchedResources: {
      configMaps: ['good', '('],
      resourceSelector: { matchExpressions: [{ key: 'a', operator: 'Almost' }] },
    },
    targets: [
      deployment('good'),
      deployment('good'),
      { ...deployment('slow'), pausePeriod: 'a while' },
      { kind: 'Pod', name: 'pod' },
      deployment(''),
      { ...deployment('odd'), rolloutStrategy: 'gently' },
    ],
  });
  const problems = await untilDegraded('bad', 'InvalidSpec');
  const paths = problems.map((each) => each.slice(0, each.indexOf(': ')));
  expect(paths).toEqual(
    expect.arrayContaining([
      'spec.watchedResources.configMaps[1]',
      'spec.targets[1]',
      'spec.targets[2].pausePeriod',
      'spec.targets[3].kind',
      'spec.targets[4].name',
      'spec.targets[5].rolloutStrategy',
    ]),
  );
  expect(paths.some((path) => path.startsWith('spec.watchedResources.resourceSelector'))).toBe(true);
  expect(condition(statusOf('bad'), 'Available')).toMatchObject({ status: 'True' });
  await change(shop, 'ConfigMap', 'good');
  await shop.untilRolled('good');
  await shop.audit.until('the reload being counted', () => statusOf('bad').reloadCount === 1);
});

test.concurrent('of a thousand targets a hundred are listed, and all are counted', async () => {
  const targets = Array.from({ length: 1000 }, (_, n) => deployment(`absent-${n}`));
  await shop.config('thousand', { watchedResources: { configMaps: ['any'] }, targets });
  const problems = await untilDegraded('thousand', 'TargetNotFound');
  expect(problems.at(-1)).toMatch(/^and \d+ more$/);
  expect(statusOf('thousand')).toMatchObject({ targetCount: 1000 });
  expect(statusOf('thousand').targetStatus).toHaveLength(100);
});

test.concurrent('what the flags leave out is not called missing', async () => {
  await shop.source('ConfigMap', 'ignored-kind');
  await shop.target('CronJob', 'ignored-kind');
  await shop.config('ignored-kind', {
    ...watching('ignored-kind'),
    targets: [{ kind: 'CronJob', name: 'ignored-kind' }],
  });
  expect(await untilDegraded('ignored-kind', 'NotWatched')).toEqual([
    'spec.targets[0]: CronJob "ignored-kind" is not watched: --ignored-workload-types leaves out every CronJob',
  ]);
  await using selective = await configWorld({
    kinds: ['ReloaderConfig'],
    flags: ['--resource-label-selector=seen=yes'],
  });
  const { shop: there } = selective;
  await there.source('ConfigMap', 'unseen');
  await there.target('Deployment', 'unseen');
  await there.config('unseen', watching('unseen'));
  await selective.start();
  expect(await untilDegraded('unseen', 'NotWatched', there)).toEqual([
    expect.stringContaining(
      'ConfigMap "unseen" is absent, or its labels do not match --resource-label-selector=seen=yes',
    ),
  ]);
});

test.concurrent('without consent nothing of the other namespace is told', async () => {
  await shop.source('ConfigMap', 'theirs');
  await other.target('Deployment', 'theirs');
  const target = { ...deployment('theirs'), namespace: other.name };
  await shop.config('theirs', { ...watching('theirs'), targets: [target] });
  await untilDegraded('theirs', 'NotAllowed');
  // Its own ConfigMap may be heard of after the config, and is missing until then.
  const problem = await shop.audit.until('no other problem', () => {
    const { message = '' } = condition(statusOf('theirs'), 'Degraded') ?? {};
    return !message.includes('; ') && message;
  });
  expect(problem).toContain(`spec.targets[0].namespace: namespace "${other.name}" does not allow reloads from`);
  expect(statusOf('theirs').targetStatus).toEqual([target]);
  await world.allow(other, shop.name);
  await untilDegraded('theirs');
  expect(statusOf('theirs').targetStatus).toMatchObject([{ ...target, rolloutStrategy: 'rollout' }]);
  await world.allow(other, null);
  await untilDegraded('theirs', 'NotAllowed');
  expect(statusOf('theirs').targetStatus).toEqual([target]);
});

test.concurrent('200 changes in ten seconds are three writes and one for each reload at most, and the last is true', async () => {
  // Before the first write: the time between two is counted from when it was made, not from when it is seen here.
  const begun = performance.now();
  await settled('busy');
  const written = writes('busy');
  for (let n = 1; n <= 200; n += 1) {
    await change(shop, 'ConfigMap', 'busy');
    await delay(40);
  }
  // A config that comes now says what there is.
  await shop.config('busy-witness', watching('busy'));
  await shop.audit.until('the last status', () => {
    const { reloadCount, watchedResourceHashes } = statusOf('busy');
    const truth = statusOf('busy-witness').watchedResourceHashes;
    const isDone = condition(statusOf('busy'), 'Progressing')?.status === 'False' && reloadCount === shop.rolls('busy');
    return isDone && shop.rolls('busy') > 0 && truth && isDeepStrictEqual(watchedResourceHashes, truth);
  });
  // Where others share the machine it takes longer than ten seconds.
  const everyFiveSeconds = Math.floor((performance.now() - begun) / 5000);
  expect(writes('busy') - written).toBeLessThanOrEqual(Math.max(3, everyFiveSeconds) + shop.rolls('busy'));
});

test.concurrent('a reload that the server refuses, until it does not', async () => {
  await settled('refused');
  proxy.setRules([{ fault: { type: 'status', code: 422 }, verbs: ['patch'], path: /deployments\/refused/ }]);
  await change(shop, 'ConfigMap', 'refused');
  const [problem] = await untilDegraded('refused', 'ReloadFailed');
  expect(problem).toMatch(/^spec.targets\[0\]: Deployment "refused": patch .* 422/);
  expect(statusOf('refused').targetStatus).toMatchObject([
    { lastError: expect.stringContaining('422'), reloadCount: 0 },
  ]);
  proxy.setRules([]);
  await shop.moves.annotate('Deployment', 'refused', { 'attune.dev/retry': '1' });
  await untilDegraded('refused');
  await shop.audit.until('the reload counted', () => statusOf('refused').targetStatus?.[0]?.reloadCount === 1);
  expect(statusOf('refused').targetStatus?.[0]).not.toHaveProperty('lastError');
});

test.concurrent('the younger of two configs says whose strategies count', async () => {
  await shop.source('ConfigMap', 'two');
  await shop.target('Deployment', 'two');
  await shop.config('two', { ...watching('two'), reloadStrategy: 'annotations' });
  await shop.config('two-more', watching('two'));
  const decidedBy = `ReloaderConfig ${shop.name}/two`;
  await shop.audit.until('the younger one', () => statusOf('two-more').targetStatus?.[0]?.decidedBy === decidedBy);
  expect(statusOf('two-more').targetStatus).toMatchObject([{ reloadStrategy: 'annotations' }]);
  await shop.remove('two');
  await shop.audit.until(
    'nobody before it',
    () => statusOf('two-more').targetStatus?.[0]?.reloadStrategy === 'env-vars',
  );
});

test.concurrent('who knows an old version only writes over nothing', async () => {
  await settled('frozen');
  const { resourceVersion } = shop.audit.latest('ReloaderConfig', 'frozen')?.metadata ?? {};
  await api().patch(configPath(shop.name, 'frozen'), { metadata: { labels: { newer: 'yes' } } });
  const apply = (metadata: object) =>
    api().patch(
      `${configPath(shop.name, 'frozen')}/status?fieldManager=attune&force=true`,
      { apiVersion: 'reloader.stakater.com/v1alpha1', kind: 'ReloaderConfig', metadata, status: { reloadCount: 99 } },
      'apply',
    );
  const refused = apply({ name: 'frozen', resourceVersion });
  await expect(refused).rejects.toBeInstanceOf(ApiRefusal);
  await expect(refused).rejects.toMatchObject({ status: 409 });
  // What somebody else writes there is put right.
  await apply({ name: 'frozen' });
  await shop.audit.until('what somebody else wrote', () =>
    statuses('frozen').some(({ reloadCount }) => reloadCount === 99),
  );
  await shop.audit.until('the status as it was', () => statusOf('frozen').reloadCount === 0);
});

test('at rest nothing is written, also after a kill -9, and counts go on', async () => {
  await settled('rest');
  await change(shop, 'ConfigMap', 'rest');
  await shop.audit.until('the reload being counted', () => {
    const { reloadCount, lastReloadTime } = statusOf('rest');
    return reloadCount === 1 && lastReloadTime && condition(statusOf('rest'), 'Progressing')?.status === 'False';
  });
  const written = writes('rest');
  await world.running[0]?.kill9();
  await world.start({ access: proxy.access, flags: ['--ignored-workload-types=cronjobs'] });
  proxy.resetCounts();
  // What is no news to a status would be written within five seconds.
  for (let round = 0; round < 5; round += 1) {
    await shop.moves.annotate('Deployment', 'rest', { round: String(round) });
    await world.fence();
  }
  expect(writes('rest')).toBe(written);
  expect([...proxy.counts.keys()].filter((key) => key.includes('reloaderconfigs') && !key.startsWith('watch'))).toEqual(
    [],
  );
  await change(shop, 'ConfigMap', 'rest');
  await shop.audit.until('the next reload', () => statusOf('rest').reloadCount === 2);
  expect(statusOf('rest').targetStatus).toMatchObject([{ reloadCount: 2 }]);
});
