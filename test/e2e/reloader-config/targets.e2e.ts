import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { WORKLOAD_KINDS } from '../../../src/api/kinds.ts';
import { api } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { pathOf } from '../../support/workloads.ts';
import { marksOf } from '../reloader/moves.ts';
import { type ConfigWorld, change, configWorld } from './config-world.ts';

let world: ConfigWorld;

/** What the operator's sink received. */
const alerts: string[] = [];

beforeAll(async () => {
  const sink = createServer((sent, answer) => {
    sent.setEncoding('utf8').on('data', (text: string) => void alerts.push(text));
    sent.on('end', () => answer.end());
  }).listen(0, '127.0.0.1');
  await once(sink, 'listening');
  const ALERT_WEBHOOK_URL = `http://127.0.0.1:${(sink.address() as AddressInfo).port}`;
  world = await configWorld({ env: { ALERT_ON_RELOAD: 'true', ALERT_WEBHOOK_URL } });
  await world.start();
  return async () => {
    await world[Symbol.asyncDispose]();
    sink.close();
  };
});

const deployment = (name: string) => ({ kind: 'Deployment', name });
const watching = (name: string) => ({ watchedResources: { configMaps: [name] } });

describe('a target of every kind', () => {
  test.concurrent.each(WORKLOAD_KINDS.map(({ kind, effect }) => ({ kind, effect })))(
    '$kind',
    async ({ kind, effect }) => {
      const { shop } = world;
      const name = `of-${kind.toLowerCase()}`;
      await shop.source('ConfigMap', name);
      const { metadata } = await shop.target(kind, name);
      await shop.config(name, { ...watching(name), targets: [{ kind, name }] });
      await change(shop, 'ConfigMap', name);
      if (effect === 'patch') await shop.untilRolled(name, 1, kind);
      else if (effect === 'run')
        await shop.audit.until('a run', () => shop.audit.all('Job').some(isRunOf(metadata.uid)));
      else
        await shop.audit.until('another Job', () => {
          const uid = shop.audit.latest('Job', name)?.metadata.uid;
          return uid !== undefined && uid !== metadata.uid;
        });
    },
  );

  const isRunOf = (uid: string) => (job: { readonly metadata: object }) =>
    JSON.stringify(job.metadata).includes(`"uid":"${uid}"`);
});

describe('enableTargetedReload and requireReference', () => {
  test.concurrent.each([
    { enable: false, required: true, used: false, rolls: 1 },
    { enable: true, required: false, used: false, rolls: 1 },
    { enable: true, required: true, used: true, rolls: 1 },
    { enable: true, required: true, used: false, rolls: 0 },
  ])('$enable, $required, used: $used → $rolls', async ({ enable, required, used, rolls }) => {
    const { shop } = world;
    const name = `targeted-${enable}-${required}-${used}`;
    await shop.source('ConfigMap', name);
    await shop.target('Deployment', name, used ? [{ kind: 'ConfigMap', name }] : []);
    await shop.config(name, {
      watchedResources: { configMaps: [name], enableTargetedReload: enable },
      targets: [{ ...deployment(name), requireReference: required }],
    });
    await change(shop, 'ConfigMap', name);
    if (rolls === 1) await shop.untilRolled(name);
    else await world.fence();
    expect(shop.rolls(name)).toBe(rolls);
  });
});

test.concurrent('the strategy of the target, else of the spec, else of the flag', async () => {
  const { shop } = world;
  for (const name of ['by-target', 'by-spec', 'by-flag']) await shop.target('Deployment', name);
  await shop.source('ConfigMap', 'strategy');
  const targets = [{ ...deployment('by-target'), reloadStrategy: 'env-vars' }, deployment('by-spec')];
  await shop.config('strategy', { ...watching('strategy'), reloadStrategy: 'annotations', targets });
  await shop.config('strategy-flag', { ...watching('strategy'), targets: [deployment('by-flag')] });
  await change(shop, 'ConfigMap', 'strategy');
  for (const name of ['by-target', 'by-spec', 'by-flag']) await shop.untilRolled(name);
  const marked = (name: string) => Object.keys(marksOf('Deployment', shop.audit.latest('Deployment', name))).length;
  expect([marked('by-target'), marked('by-spec'), marked('by-flag')]).toEqual([1, 0, 1]);
});

test.concurrent('alerts: false keeps what a config leads to from the sink', async () => {
  const { shop } = world;
  for (const name of ['silent', 'loud']) {
    await shop.source('ConfigMap', name);
    await shop.target('Deployment', name);
    await shop.config(name, { ...watching(name), targets: [deployment(name)], alerts: name === 'loud' });
  }
  await change(shop, 'ConfigMap', 'silent');
  await shop.untilRolled('silent');
  await change(shop, 'ConfigMap', 'loud');
  await until(() => alerts.some((text) => text.includes('loud')), { what: 'the alert' });
  expect(alerts.filter((text) => text.includes('silent'))).toEqual([]);
});

test.concurrent('a target that comes later is reloaded', async () => {
  const { shop } = world;
  await shop.source('ConfigMap', 'late');
  await shop.config('late', { ...watching('late'), targets: [deployment('late')] });
  await shop.target('Deployment', 'late');
  await change(shop, 'ConfigMap', 'late');
  await shop.untilRolled('late');
});

test.concurrent('reloadOnCreate and reloadOnDelete count instead of the flags', async () => {
  const { shop } = world;
  await shop.target('Deployment', 'comes');
  await shop.target('Deployment', 'comes-not');
  const both = { ...watching('comes'), reloadOnCreate: true, reloadOnDelete: true };
  await shop.config('comes', { ...both, targets: [deployment('comes')] });
  await shop.config('comes-not', { ...watching('comes'), targets: [deployment('comes-not')] });
  await world.fence();
  await shop.source('ConfigMap', 'comes');
  await shop.untilRolled('comes');
  await shop.moves.deleteSource('ConfigMap', 'comes');
  await shop.untilRolled('comes', 2);
  await world.fence();
  expect(shop.rolls('comes-not')).toBe(0);
});

describe('who refuses is not reloaded', () => {
  test.concurrent.each(
    [
      { by: 'ignore on the source', source: { 'reloader.stakater.com/ignore': 'true' } },
      { by: 'exclude', workload: { 'configmaps.exclude.reloader.stakater.com/reload': 'refused-1' } },
      { by: 'auto: "false"', workload: { 'reloader.stakater.com/auto': 'false' } },
      { by: 'ignore on the config', config: { 'reloader.stakater.com/ignore': 'true' } },
    ].map((each, n) => ({ ...each, name: `refused-${n}` })),
  )('$by', async ({ name, source, workload, config }) => {
    const { shop } = world;
    await shop.moves.createSource('ConfigMap', name, { value: '1' }, source);
    await shop.target('Deployment', name, [], { annotations: workload });
    await shop.config(name, { ...watching(name), targets: [deployment(name)] }, config);
    await change(shop, 'ConfigMap', name);
    await world.fence();
    expect(shop.rolls(name)).toBe(0);
  });
});

test.concurrent('two configs and annotations: one rollout, by the strategy of the oldest config', async () => {
  const { shop } = world;
  await shop.source('ConfigMap', 'shared');
  await shop.target('Deployment', 'shared', [{ kind: 'ConfigMap', name: 'shared' }], {
    annotations: { 'reloader.stakater.com/auto': 'true' },
  });
  const targets = [deployment('shared')];
  // Of two from the same second the name decides.
  await shop.config('a-first', { ...watching('shared'), reloadStrategy: 'annotations', targets });
  const second = await shop.config('b-second', { ...watching('shared'), reloadStrategy: 'env-vars', targets });
  // Who hears of the change first rolls by the annotation, which is as good a reason.
  await shop.untilKnown(second);
  await change(shop, 'ConfigMap', 'shared');
  await shop.untilRolled('shared');
  await world.fence();
  expect(shop.rolls('shared')).toBe(1);
  expect(marksOf('Deployment', shop.audit.latest('Deployment', 'shared'))).toEqual({});
});

test.concurrent('what changed before a config asked for it rolls nothing, what changes afterwards does', async () => {
  const { shop } = world;
  for (const name of ['before', 'before-too']) await shop.source('ConfigMap', name);
  await shop.target('Deployment', 'before');
  const targets = [deployment('before')];
  // Its pods are older than the data, and that is not the config's business.
  for (const name of ['before', 'before-too']) await change(shop, 'ConfigMap', name);
  await shop.config('before', { ...watching('before'), targets });
  await world.fence();
  await shop.edit('before', { ...watching('before(-too)?'), targets });
  await world.fence();
  expect(shop.rolls('before')).toBe(0);
  await change(shop, 'ConfigMap', 'before-too');
  await shop.untilRolled('before');
});

test.concurrent('to create, edit or delete a config rolls nothing, and what only it had asked for is dropped', async () => {
  const { shop } = world;
  await shop.source('ConfigMap', 'kept');
  await shop.source('ConfigMap', 'other');
  await shop.target('Deployment', 'kept');
  const targets = [deployment('kept')];
  const wait = (period: string) =>
    shop.moves.annotate('Deployment', 'kept', { 'attune.dev/quiet-period': period, 'attune.dev/max-wait': period });
  await shop.config('kept', { ...watching('(kept|other)'), targets });
  await wait('60s');
  await change(shop, 'ConfigMap', 'other');
  await world.fence();
  await shop.edit('kept', { ...watching('kept'), targets });
  const edited = await shop.edit('kept', { ...watching('(kept|other)'), targets });
  // Workloads have another watch: it must not tell of the next step before the configs' tells of this one.
  await shop.untilKnown(edited);
  // Now it goes at once, if anything waits.
  await wait('0s');
  await world.fence();
  expect(shop.rolls('kept')).toBe(0);
  await wait('60s');
  await change(shop, 'ConfigMap', 'kept');
  await world.fence();
  await shop.remove('kept');
  const created = await shop.config('kept', { ...watching('(kept|other)'), targets });
  await shop.untilKnown(created);
  await wait('0s');
  await world.fence();
  expect(shop.rolls('kept')).toBe(0);
  await change(shop, 'ConfigMap', 'kept');
  await shop.untilRolled('kept');
});

test.concurrent('a Secret and a ConfigMap of one name, and of the name of the config, are each seen', async () => {
  const { shop } = world;
  await shop.source('ConfigMap', 'one-name');
  await shop.source('Secret', 'one-name');
  await shop.target('Deployment', 'one-name');
  const watchedResources = { configMaps: ['one-name'], secrets: ['one-name'] };
  await shop.config('one-name', { watchedResources, targets: [deployment('one-name')] });
  await change(shop, 'ConfigMap', 'one-name');
  await shop.untilRolled('one-name', 1);
  await change(shop, 'Secret', 'one-name');
  await shop.untilRolled('one-name', 2);
});

test.concurrent('data that another hash takes for the same is a change', async () => {
  const { shop } = world;
  await shop.moves.createSource('ConfigMap', 'collision', { a: '1', b: '2' });
  await shop.target('Deployment', 'collision');
  await shop.config('collision', { ...watching('collision'), targets: [deployment('collision')] });
  await shop.moves.setData('ConfigMap', 'collision', { a: '1;b:2' });
  await shop.untilRolled('collision', 1);
  const { metadata } = await api().get(pathOf('ConfigMap', shop.name, 'collision'));
  // Nothing is written to what belongs to users.
  expect(metadata.annotations ?? {}).toEqual({});
});
