import { beforeAll, describe, expect, test } from 'vitest';
import type { DataObject, KubeObject } from '../../../src/api/objects.ts';
import { CONFIG_MAPS, type Resource, SECRETS } from '../../../src/api/resources.ts';
import { connect } from '../../../src/kube/auth/connection.ts';
import { KubeClient } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/kube-error.ts';
import { kubeClient } from '../../support/kube-client.ts';
import { controlPlane, namespace, serviceAccount } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';

const core = (plural: string, kind: string): Resource => ({ ...CONFIG_MAPS, plural, kind });
const PODS = core('pods', 'Pod');
const DEPLOYMENTS: Resource = { ...core('deployments', 'Deployment'), group: 'apps' };

let ns: string;
let client: KubeClient;
beforeAll(async () => {
  ns = await namespace('client');
  client = kubeClient();
});

const configMap = (name: string, data: Readonly<Record<string, string>> = {}) => ({ metadata: { name }, data });

describe('writing', () => {
  test('a kubeconfig leads to the server', async () => {
    const connection = await connect({ kubeconfig: controlPlane().kubeconfig, env: {} });
    const own = new KubeClient(connection);
    const ref = { namespace: ns, name: 'found' };
    await client.create(CONFIG_MAPS, ns, configMap(ref.name));
    expect((await own.get(CONFIG_MAPS, ref)).metadata.name).toBe(ref.name);
    own.close();
  });

  test('create, and again', async () => {
    await client.create(CONFIG_MAPS, ns, configMap('once'));
    const again = await client.create(CONFIG_MAPS, ns, configMap('once')).catch((error: unknown) => error);
    expect(KubeError.is(again, 'AlreadyExists')).toBe(true);
  });

  test('dry run leaves nothing behind', async () => {
    await client.create(CONFIG_MAPS, ns, configMap('ghost'), { dryRun: true });
    await expect(client.get(CONFIG_MAPS, { namespace: ns, name: 'ghost' })).rejects.toMatchObject({
      reason: 'NotFound',
    });
  });

  test('the four kinds of patch', async () => {
    const ref = { namespace: ns, name: 'patched' };
    const options = { fieldManager: 'attune' };
    await client.patch(
      CONFIG_MAPS,
      ref,
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref, data: { a: '1' } },
      { ...options, type: 'apply' },
    );
    await client.patch(CONFIG_MAPS, ref, { data: { b: '2' } }, { ...options, type: 'merge' });
    await client.patch(CONFIG_MAPS, ref, { data: { c: '3' } }, { ...options, type: 'strategic' });
    const patch = [
      { op: 'test', path: '/data/a', value: '1' },
      { op: 'remove', path: '/data/a' },
    ];
    const answer = await client.patch<DataObject>(CONFIG_MAPS, ref, patch, { ...options, type: 'json' });
    expect(answer.data).toEqual({ b: '2', c: '3' });
    await expect(client.patch(CONFIG_MAPS, ref, patch, { ...options, type: 'json' })).rejects.toMatchObject({
      status: 422,
    });
  });

  test('a write decided on an old version is refused: PUT, PATCH, DELETE', async () => {
    const ref = { namespace: ns, name: 'versioned' };
    const old = await client.create<DataObject>(CONFIG_MAPS, ns, configMap('versioned'));
    await client.patch(CONFIG_MAPS, ref, { data: { new: 'yes' } }, { type: 'merge' });
    const { resourceVersion } = old.metadata;
    await expect(client.replace(CONFIG_MAPS, ref, old)).rejects.toMatchObject({ reason: 'Conflict' });
    await expect(
      client.patch(CONFIG_MAPS, ref, { metadata: { resourceVersion }, data: {} }, { type: 'strategic' }),
    ).rejects.toMatchObject({ reason: 'Conflict' });
    await expect(client.delete(CONFIG_MAPS, ref, { resourceVersion })).rejects.toMatchObject({ reason: 'Conflict' });
    await expect(client.delete(CONFIG_MAPS, ref, { uid: 'another' })).rejects.toMatchObject({ reason: 'Conflict' });
    await client.delete(CONFIG_MAPS, ref, { uid: old.metadata.uid });
    await expect(client.get(CONFIG_MAPS, ref)).rejects.toMatchObject({ reason: 'NotFound' });
  });

  test('a Secret that the server refuses is not quoted', async () => {
    const secret = { metadata: { name: 'bad' }, data: { password: 'not base64: hunter2' } };
    const failure = await client.create(SECRETS, ns, secret).catch((error: unknown) => error as Error);
    expect(KubeError.is(failure)).toBe(true);
    expect(String(failure)).not.toContain('hunter2');
  });

  test('subresources, eviction and tokens', async () => {
    const template = { metadata: { labels: { app: 'x' } }, spec: { containers: [{ name: 'c', image: 'x' }] } };
    const spec = { replicas: 1, selector: { matchLabels: { app: 'x' } }, template };
    await client.create(DEPLOYMENTS, ns, { metadata: { name: 'x' }, spec });
    const ref = { namespace: ns, name: 'x' };
    await client.patch(DEPLOYMENTS, ref, { spec: { replicas: 2 } }, { type: 'merge', subresource: 'scale' });
    expect(await client.get(DEPLOYMENTS, ref, { subresource: 'scale' })).toMatchObject({ spec: { replicas: 2 } });
    const pods = async () => (await client.list<KubeObject>(PODS, { namespace: ns }).next()).value?.items ?? [];
    const [pod] = await until(async () => (await pods()).length === 2 && pods(), { what: 'two pods' });
    const name = pod?.metadata.name ?? '';
    await client.evict({ namespace: ns, name });
    const isGone = async () => !(await pods()).some((other) => other.metadata.name === name);
    await until(isGone, { what: 'the eviction' });
    const token = await client.requestToken({ namespace: ns, name: 'default' }, 600);
    const stranger = kubeClient({ ...controlPlane(), token });
    await expect(stranger.list(CONFIG_MAPS, { namespace: ns }).next()).rejects.toMatchObject({
      reason: 'Forbidden',
      message: expect.stringContaining(`system:serviceaccount:${ns}:default`),
    });
  });
});

describe('reading', () => {
  test('pages are one listing, also when objects change meanwhile', async () => {
    const scope = { namespace: ns, labelSelector: 'pages=yes' };
    const page = (name: string) => ({ metadata: { name, labels: { pages: 'yes' } }, data: { big: 'x'.repeat(100) } });
    await Promise.all(Array.from({ length: 25 }, (_, i) => client.create(CONFIG_MAPS, ns, page(`page-${i}`))));
    const names = new Set<string>();
    const versions = new Set<string>();
    const fulls = new Set<boolean>();
    for await (const { items, resourceVersion, full } of client.list<DataObject>(CONFIG_MAPS, scope, {
      limit: 10,
      metadataOnly: true,
    })) {
      for (const item of items) names.add(item.metadata.name);
      expect(items.every((item) => item.data === undefined)).toBe(true);
      versions.add(resourceVersion);
      fulls.add(full);
      await client.create(CONFIG_MAPS, ns, page(`late-${names.size}`));
    }
    expect(names.size).toBe(25);
    expect(versions.size).toBe(1);
    expect([...fulls]).toEqual([false]);
  });

  test('a watch with a selector sees objects leave', async () => {
    const scope = { namespace: ns, labelSelector: 'seen=yes' };
    const created = await client.create(CONFIG_MAPS, ns, { metadata: { name: 'leaves', labels: { seen: 'yes' } } });
    const events = client.watch(CONFIG_MAPS, scope, created.metadata.resourceVersion, {
      signal: AbortSignal.timeout(40_000),
    });
    const first = events.next();
    await client.patch(
      CONFIG_MAPS,
      { namespace: ns, name: 'leaves' },
      { metadata: { labels: { seen: 'no' } } },
      { type: 'merge' },
    );
    expect((await first).value?.type).toBe('DELETED');
    await events.return();
  });

  test('discovery', async () => {
    expect(await client.discover('apps')).toContainEqual({ version: 'v1', plural: 'deployments', kind: 'Deployment' });
    expect(await client.discover('')).toContainEqual({ version: 'v1', plural: 'secrets', kind: 'Secret' });
    expect(await client.discover('nobody.example')).toEqual([]);
  });

  test('a right that is missing is named', async () => {
    const access = await serviceAccount(ns, 'reader', [
      { apiGroups: [''], resources: ['configmaps'], verbs: ['list'] },
    ]);
    const reader = kubeClient(access);
    await expect(reader.list(SECRETS, { namespace: ns }).next()).rejects.toMatchObject({
      status: 403,
      message: expect.stringContaining('cannot list resource "secrets"'),
    });
  });
});
