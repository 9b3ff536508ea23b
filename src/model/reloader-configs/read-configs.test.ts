import { expect, test } from 'vitest';
import { listOf } from '../../../test/support/scripted-api.ts';
import { startClient } from '../../../test/support/scripted-client.ts';
import { readConfigs, readConsents } from './read-configs.ts';
import { ReloaderConfigs } from './reloader-configs.ts';

const GROUP = '/apis/reloader.stakater.com';
const ALL = `${GROUP}/v1alpha1/reloaderconfigs`;
const OWN = `${GROUP}/v1alpha1/namespaces/shop/reloaderconfigs`;
const SERVED = {
  [GROUP]: { versions: [{ version: 'v1alpha1' }] },
  [`${GROUP}/v1alpha1`]: { resources: [{ name: 'reloaderconfigs', kind: 'ReloaderConfig' }] },
};
const config = (namespace: string, name: string, spec: object = {}) => ({
  metadata: { namespace, name, uid: name, resourceVersion: '1', generation: 1 },
  spec,
});
const namespaced = (name: string, allowed?: string) => ({
  metadata: { name, uid: name, resourceVersion: '1', annotations: { 'attune.dev/allow-reloads-from': allowed ?? '' } },
});
const asking = { namespace: 'shop', ignoreKey: 'ignore', readsNamespaces: true, isOpenByFlag: false };

/** What the server gives for a path; everything else is forbidden. */
async function clientOf(paths: Readonly<Record<string, readonly object[] | object>>) {
  const { client } = await startClient(({ path, json, status }) => {
    const found = paths[path];
    if (!found) status(403, 'Forbidden');
    else json(200, Array.isArray(found) ? listOf(found, '1') : found);
  });
  return client;
}

const namesIn = async (paths: Parameters<typeof clientOf>[0], more: object = {}) => {
  const { read, unread } = await readConfigs(await clientOf(paths), { ...asking, ...more });
  return { names: read.map((each) => `${each.config.ref.namespace}/${each.config.ref.name}`), unread };
};

test('those of all namespaces, where they may be listed', async () => {
  const found = await namesIn({ [ALL]: [config('shop', 'a'), config('bank', 'b')] });
  expect(found).toEqual({ names: ['shop/a', 'bank/b'], unread: [] });
});

test('else those of the namespace; others are missed only where they could ask for something', async () => {
  const own = { ...SERVED, [OWN]: [config('shop', 'a')] };
  const missed = 'you may not list reloaderconfigs of other namespaces: what they ask for is not known here';
  const closed = { ...own, '/api/v1/namespaces/shop': namespaced('shop') };
  const open = { ...own, '/api/v1/namespaces/shop': namespaced('shop', 'bank') };
  expect(await namesIn(closed)).toEqual({ names: ['shop/a'], unread: [] });
  expect(await namesIn(open)).toEqual({ names: ['shop/a'], unread: [missed] });
  expect((await namesIn(own)).unread).toEqual([missed]);
  expect((await namesIn(closed, { isOpenByFlag: true })).unread).toEqual([missed]);
  expect((await namesIn(open, { readsNamespaces: false })).unread).toEqual([]);
});

test('a right that is missing to what the server does not have is none', async () => {
  expect(await namesIn({ [GROUP]: { versions: [] } })).toEqual({ names: [], unread: [] });
  expect((await namesIn(SERVED)).unread).toEqual([
    'you may not list reloaderconfigs in namespace shop: what they ask for is not known here',
  ]);
});

test('what namespaces allow is read only if somebody names another one', async () => {
  const { read } = await readConfigs(
    await clientOf({
      [ALL]: [config('shop', 'a', { targets: [{ kind: 'Deployment', namespace: 'bank', name: 'web' }] })],
    }),
    asking,
  );
  const nobody = new ReloaderConfigs({ rolloutStrategy: 'rollout', allowReloads: new Map() });
  expect(await readConsents(await clientOf({}), nobody, asking)).toEqual([]);
  const configs = new ReloaderConfigs({ rolloutStrategy: 'rollout', allowReloads: new Map() });
  for (const each of read) configs.put(each.config);
  expect(await readConsents(await clientOf({}), configs, asking)).toEqual([
    'you may not list namespaces: which of them allow others to name what is in them is not known here',
  ]);
  expect(configs.consents.allows('bank', 'shop')).toBe(false);
  const listed = await clientOf({ '/api/v1/namespaces': [namespaced('bank', 'shop')] });
  expect(await readConsents(listed, configs, asking)).toEqual([]);
  expect(configs.consents.allows('bank', 'shop')).toBe(true);
});
