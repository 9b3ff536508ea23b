import { describe, expect, it } from 'vitest';
import type { ReloaderConfigSpec } from '../../../src/api/reloader-config/spec-fields.ts';
import type { WorkloadReport } from '../../../src/cli/explain/explain-text.ts';
import { installKinds } from '../../support/crds.ts';
import { api, namespace, serviceAccount } from '../../support/sandbox.ts';
import { podUsing, type WorkloadOptions, workload } from '../../support/workloads.ts';
import { configPath } from '../reloader-config/config-world.ts';
import { commandLine } from './run.ts';

const DEFAULTS = '--reload-strategy=env-vars';
const admin = api();
const attune = commandLine();
await installKinds(['ReloaderConfig']);
const [shop, bank] = [await namespace('configs-shop'), await namespace('configs-bank')];

const configMap = (place: string, name: string, labels: object = {}) =>
  admin.create(`/api/v1/namespaces/${place}/configmaps`, { metadata: { name, labels }, data: { a: '1' } });
const deployment = (place: string, name: string, options: WorkloadOptions = {}) =>
  admin.create(`/apis/apps/v1/namespaces/${place}/deployments`, workload('Deployment', name, options));
const config = (place: string, name: string, spec: ReloaderConfigSpec) =>
  admin.create(configPath(place), {
    apiVersion: 'reloader.stakater.com/v1alpha1',
    kind: 'ReloaderConfig',
    metadata: { name },
    spec,
  });
const allow = (place: string, from: string | null) =>
  admin.patch(`/api/v1/namespaces/${place}`, {
    metadata: { annotations: { 'attune.dev/allow-reloads-from': from }, labels: { tenant: bank } },
  });

type Ask = typeof attune;

async function explained(ask: Ask, place: string, name: string, ...flags: string[]): Promise<WorkloadReport> {
  const { stdout, stderr } = await ask('explain', name, '-n', place, '-o', 'json', DEFAULTS, ...flags);
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

async function inWords(ask: Ask, ...words: string[]): Promise<string> {
  return (await ask(...words, DEFAULTS)).stdout.replaceAll(/\s+/g, ' ');
}

await configMap(shop, 'app');
await configMap(shop, 'web', { tier: 'web' });
await configMap(shop, 'other', { tier: 'other' });
await configMap(shop, 'left-out', { tier: 'web' });
await configMap(bank, 'rates', { tier: 'web' });
await deployment(shop, 'web');
await deployment(shop, 'stranger', { pod: podUsing({ kind: 'ConfigMap', name: 'app' }, 'envFrom') });
await deployment(bank, 'teller');
await config(shop, 'all', {
  watchedResources: {
    configMaps: ['app', 'missing'],
    resourceSelector: { matchLabels: { tier: 'web' } },
    namespaceSelector: { matchLabels: { tenant: bank } },
  },
  ignoreResources: [{ kind: 'ConfigMap', name: 'left-out' }],
  reloadOnDelete: true,
  targets: [
    { kind: 'Deployment', name: 'web', pausePeriod: '5m' },
    { kind: 'Deployment', name: 'teller', namespace: bank, rolloutStrategy: 'restart' },
    { kind: 'Deployment', name: 'broken', pausePeriod: 'long' },
  ],
});
await deployment(shop, 'broken');

describe('explain', () => {
  it('names the ReloaderConfig that asks for each source, and leaves out what has other labels', async () => {
    const report = await explained(attune, shop, 'deploy/web');
    const told = report.sources.map(({ source, rolls, because, config: by }) => [
      source.name,
      rolls,
      because,
      by?.path,
    ]);
    expect(told.sort()).toEqual([
      ['app', true, 'reloader-config', 'spec.watchedResources.configMaps'],
      ['left-out', false, 'left-out', undefined],
      ['missing', true, 'reloader-config', 'spec.watchedResources.configMaps'],
      ['web', true, 'reloader-config', 'spec.watchedResources.resourceSelector'],
    ]);
    expect(report.sources[0]?.config).toMatchObject({ namespace: shop, name: 'all' });
    expect(report.configs).toMatchObject([{ namespace: shop, name: 'all', path: 'spec.targets[0]' }]);
    expect(report.cooldown).toMatchObject({ periodMs: 300_000 });
  });

  it('for people', async () => {
    const text = await inWords(attune, 'explain', 'deploy/web', '-n', shop);
    expect(text).toContain(`asked by ReloaderConfig ${shop}/all spec.targets[0]`);
    expect(text).toContain(`because ReloaderConfig ${shop}/all spec.watchedResources.configMaps names it`);
    expect(text).toContain(`cooldown 5 min between two reloads, by ReloaderConfig ${shop}/all`);
    expect(text).toContain(`it is deleted: the same (ReloaderConfig ${shop}/all spec.reloadOnDelete: true)`);
  });

  it('says of a target that cannot be understood what is wrong with it, and of other targets nothing', async () => {
    const report = await explained(attune, shop, 'deploy/broken');
    expect(report.configs).toMatchObject([{ path: 'spec.targets[2]', ignoredBecause: 'it cannot be understood' }]);
    expect(report.problems).toEqual([expect.stringContaining(`${shop}/all spec.targets[2].pausePeriod must be`)]);
    expect((await explained(attune, shop, 'deploy/web')).problems).toEqual([]);
  });

  it('tells that nobody follows them', async () => {
    const report = await explained(attune, shop, 'deploy/web', '--reloader-config=false');
    expect(report.configs).toMatchObject([{ ignoredBecause: '--reloader-config=false' }]);
    expect(report.sources).toEqual([]);
  });
});

describe('other namespaces', () => {
  it('count as soon as they allow it, as targets and for their sources', async () => {
    const refused = await explained(attune, bank, 'deploy/teller');
    expect(refused.configs[0]?.ignoredBecause).toContain(`annotate it with attune.dev/allow-reloads-from: "${shop}"`);
    expect(refused.sources).toEqual([]);
    const impact = async () =>
      JSON.parse((await attune('impact', 'cm/app', '-n', shop, '-o', 'json', DEFAULTS)).stdout);
    const names = ({
      workloads,
    }: {
      readonly workloads: readonly { readonly workload: { readonly name: string } }[];
    }) => workloads.map((each) => each.workload.name).sort();
    expect(names(await impact())).toEqual(['stranger', 'web']);

    await allow(bank, shop);
    const allowed = await explained(attune, bank, 'deploy/teller');
    expect(allowed.configs[0]?.ignoredBecause).toBeUndefined();
    // What is evicted has no mark.
    expect(allowed.sources[0]).toMatchObject({ action: 'evict' });
    expect(allowed.sources[0]?.mark).toBeUndefined();
    expect(allowed.sources.map(({ source }) => `${source.namespace}/${source.name}`).sort()).toEqual(
      [`${bank}/rates`, ...['app', 'missing', 'web', 'left-out'].map((name) => `${shop}/${name}`)].sort(),
    );
    expect(names(await impact())).toEqual(['stranger', 'teller', 'web']);
    const text = await inWords(attune, 'impact', 'cm/app', '-n', shop);
    expect(text).toMatch(
      new RegExp(`✓ Deployment ${bank}/teller restarts \\(reloader-config\\) ReloaderConfig ${shop}/all`),
    );
    expect(await inWords(attune, 'impact', 'cm/rates', '-n', bank)).toContain(`Deployment ${shop}/web rolls`);
    expect(await inWords(attune, 'explain', 'deploy/web', '-n', shop, '--source=cm/rates')).toContain(
      `✓ ConfigMap ${bank}/rates: a change rolls it`,
    );
  });

  it('whoever may look at one only is told what is left out', async () => {
    const read = { verbs: ['get', 'list'], resources: ['*'] };
    const rules = ['apps', 'batch', ''].map((group) => ({ ...read, apiGroups: [group] }));
    const tenant = commandLine(await serviceAccount(shop, 'no-configs', rules));
    const report = await explained(tenant, shop, 'deploy/web');
    expect(report.sources).toEqual([]);
    expect(report.notes).toContainEqual(
      `you may not list reloaderconfigs in namespace ${shop}: what they ask for is not known here`,
    );
  });
});
