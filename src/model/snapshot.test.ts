import { expect, test } from 'vitest';
import { digest, objectOf, policyOf, rowOf } from '../../test/conformance/given.ts';
import { listOf } from '../../test/support/scripted-api.ts';
import { startClient } from '../../test/support/scripted-client.ts';
import { Snapshot } from './snapshot.ts';

const named = (name: string, rest: object = {}) => ({
  metadata: { namespace: 'shop', name, uid: name, resourceVersion: '1', ...rest },
});

/** What the server gives for a path; everything else is forbidden. */
async function snapshot(paths: Readonly<Record<string, readonly object[] | object>>) {
  const { client, api } = await startClient(({ path, json, status }) => {
    const found = paths[path.replace('/api/v1/namespaces/shop/', '')];
    if (!found) status(403, 'Forbidden');
    else json(200, Array.isArray(found) ? listOf(found, '1') : found);
  });
  return {
    api,
    taken: new Snapshot({
      client,
      namespace: 'shop',
      policy: policyOf(),
      configs: { rolloutStrategy: 'rollout', allowReloads: new Map() },
      key: { digest, former: undefined, contentHash: digest },
    }),
  };
}

test('what may not be listed is not known to be absent', async () => {
  const { taken } = await snapshot({ configmaps: [named('app', { labels: { a: 'b' } })] });
  await taken.readSources(['ConfigMap', 'Secret']);
  const facts = (kind: 'ConfigMap' | 'Secret', name: string) => taken.facts({ kind, namespace: 'shop', name });
  expect(facts('ConfigMap', 'app')).toMatchObject({ presence: 'present', labels: { a: 'b' } });
  expect(facts('ConfigMap', 'other').presence).toBe('absent');
  expect(facts('Secret', 'db').presence).toBe('unreadable');
  expect(taken.forbidden).toEqual([{ plural: 'secrets', namespace: 'shop' }]);
});

test('bytes are read of one source, when they are asked for', async () => {
  const app = { ...named('app', { managedFields: [{ time: '2030-01-31T12:00:00Z', fieldsV1: { 'f:data': {} } }] }) };
  const { taken, api } = await snapshot({ configmaps: [app], 'configmaps/app': { ...app, data: { a: '1' } } });
  const ref = { kind: 'ConfigMap', namespace: 'shop', name: 'app' } as const;
  await taken.readSources(['ConfigMap']);
  expect(taken.sources.get(ref)).toMatchObject({ uid: 'app', fingerprint: undefined });
  await taken.readData(ref);
  expect(taken.sources.get(ref)?.fingerprint?.mark).toMatch(/^[0-9a-f]{40}$/);
  expect(taken.facts(ref).changedAt).toBe(Date.UTC(2030, 0, 31, 12));
  expect(api.requests.map(({ verb }) => verb)).toEqual(['list', 'get']);
});

test('a kind that the server does not have is not one that may not be listed', async () => {
  const served = (...names: readonly string[]) => ({ resources: names.map((name) => ({ name, kind: name })) });
  const { taken } = await snapshot({
    '/apis/argoproj.io': { versions: [{ version: 'v1alpha1' }] },
    '/apis/argoproj.io/v1alpha1': served('workflows'),
    '/apis/apps': { versions: [{ version: 'v1' }] },
    '/apis/apps/v1': served('deployments', 'deployments/status'),
  });
  for (const kind of ['Rollout', 'Deployment', 'DeploymentConfig'] as const) {
    expect(await taken.list(rowOf(kind))).toEqual([]);
  }
  // Of the group of the last one nobody told anything.
  expect(taken.forbidden.map(({ plural }) => plural)).toEqual(['deployments', 'deploymentconfigs']);
});

test('who may read a source by name, and not list its kind, knows its annotations', async () => {
  const db = named('db', { annotations: { 'reloader.stakater.com/ignore': 'true' } });
  const { taken } = await snapshot({ 'secrets/db': { ...db, data: { a: 'MQ==' } } });
  const ref = { kind: 'Secret', namespace: 'shop', name: 'db' } as const;
  await taken.readSources(['Secret']);
  await taken.readData(ref);
  expect(taken.sources.get(ref)?.fingerprint?.mark).toMatch(/^[0-9a-f]{40}$/);
  expect(taken.sources.flags(ref).ignored).toBe(true);
  expect(taken.facts(ref).presence).toBe('present');
  expect(taken.hasListed('Secret', 'shop')).toBe(false);
});

test('what was never looked for is read by name', async () => {
  const csi = '/apis/secrets-store.csi.x-k8s.io/v1/namespaces/shop/secretproviderclasses';
  const { taken, api } = await snapshot({ [`${csi}/vault`]: named('vault') });
  const presence = async (name: string) => {
    const ref = { kind: 'SecretProviderClass', namespace: 'shop', name } as const;
    await taken.readData(ref);
    return taken.facts(ref).presence;
  };
  expect(await presence('vault')).toBe('present');
  expect(await presence('other')).toBe('unreadable');
  expect(api.requests.map(({ verb }) => verb)).toEqual(['get', 'get']);
});

test('a workload is concerned by what it uses, names and matches, also where it is not to be rolled', async () => {
  const { taken } = await snapshot({ configmaps: [named('app'), named('web-1'), named('other')] });
  await taken.readSources(['ConfigMap']);
  const names = (annotations: Readonly<Record<string, string>>) => {
    const object = objectOf({ metadata: annotations });
    return taken.concernsOf(taken.enter(rowOf('Deployment'), object)).map(({ name }) => name);
  };
  const list = { 'configmap.reloader.stakater.com/reload': 'other,other,web-.*' };
  expect(names(list)).toEqual(expect.arrayContaining(['other', 'web-1']));
  expect(names({ ...list, 'reloader.stakater.com/auto': 'false' }).filter((name) => name === 'other')).toHaveLength(1);
});
