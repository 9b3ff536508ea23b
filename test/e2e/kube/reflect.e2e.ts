import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DataObject, KubeObject } from '../../../src/api/objects.ts';
import { CONFIG_MAPS, type Resource, SECRETS } from '../../../src/api/resources.ts';
import type { KubeClient, ListScope } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/kube-error.ts';
import { type ReflectEvent, type ReflectOptions, Reflector } from '../../../src/kube/watch/reflector.ts';
import { installKinds } from '../../support/crds.ts';
import { kubeClient } from '../../support/kube-client.ts';
import { faultProxy } from '../../support/proxy.ts';
import { namespace, ownControlPlane, serviceAccount } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';

let ns: string;
let admin: KubeClient;
beforeAll(async () => {
  ns = await namespace('reflect');
  admin = kubeClient();
});

const data = (object: KubeObject) => String((object as DataObject).data?.['value'] ?? 'nothing');

/** A reflector at work, until the end of the file. */
function reflect(
  client: KubeClient,
  resource: Resource,
  scope: ListScope,
  options: Partial<ReflectOptions<string>> = {},
) {
  const reflector = new Reflector<string>(client, resource, scope, { digest: data, ...options });
  const stop = new AbortController();
  const events: ReflectEvent<string>[] = [];
  const running = reflector.run(stop.signal, (event) => events.push(event));
  afterAll(async () => {
    stop.abort();
    await running;
  });
  const seen = (type: ReflectEvent<string>['type']) =>
    until(() => events.find((event) => event.type === type), { what: `an event "${type}"` });
  return { reflector, events, seen };
}

const put = (name: string, value: string, labels = {}) => ({ metadata: { name, labels }, data: { value } });

describe('sources', () => {
  test('light listing and full watch: every change arrives whole, and no object is ever fetched', async () => {
    const proxy = await faultProxy();
    const client = kubeClient(proxy.access);
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    await admin.create(SECRETS, ns, put('db', base64('one')));
    await admin.create(SECRETS, ns, { ...put('release', base64('x')), type: 'helm.sh/release.v1' });
    const { reflector, events, seen } = reflect(
      client,
      SECRETS,
      { namespace: ns, fieldSelector: 'type!=helm.sh/release.v1' },
      { light: true, digest: (object, full) => (full ? data(object) : 'light') },
    );
    await seen('synced');
    expect(reflector.values.get(`${ns}/db`)).toBe('light');
    expect(reflector.values.has(`${ns}/release`)).toBe(false);
    await admin.patch(SECRETS, { namespace: ns, name: 'db' }, { data: { value: base64('two') } }, { type: 'merge' });
    const change = await seen('change');
    expect(change).toMatchObject({ previous: 'light', value: 'two', initial: false });
    await admin.delete(SECRETS, { namespace: ns, name: 'db' });
    expect(await seen('remove')).toMatchObject({ key: `${ns}/db`, previous: 'two' });
    expect(events.filter((event) => event.type === 'synced')).toHaveLength(1);
    expect(Object.fromEntries(proxy.counts)).toEqual({ 'list secrets': 1, 'watch secrets': 1 });
  });

  test('600 objects come in pages', async () => {
    const proxy = await faultProxy();
    const client = kubeClient(proxy.access);
    let next = 0;
    const create = async () => {
      while (next < 600) await admin.create(CONFIG_MAPS, ns, put(`many-${next++}`, 'x', { many: 'yes' }));
    };
    await Promise.all(Array.from({ length: 16 }, create));
    const { reflector, seen } = reflect(client, CONFIG_MAPS, { namespace: ns, labelSelector: 'many=yes' });
    await seen('synced');
    expect(reflector.values.size).toBe(600);
    // A small one, one of 500, the rest.
    expect(proxy.counts.get('list configmaps')).toBe(3);
  });

  test('a watch that is cut misses nothing and lists nothing; a forgotten one lists and misses nothing', async () => {
    const proxy = await faultProxy();
    const client = kubeClient(proxy.access);
    const scope = { namespace: ns, labelSelector: 'cut=yes' };
    const { reflector, seen } = reflect(client, CONFIG_MAPS, scope, { random: () => 0.1 });
    await seen('synced');
    await until(() => proxy.counts.get('watch configmaps') === 1, { what: 'the watch' });
    proxy.setRules([{ fault: { type: 'status', code: 503 }, verbs: ['watch'], times: 2 }]);
    proxy.cutWatches();
    await admin.create(CONFIG_MAPS, ns, put('during', 'the cut', { cut: 'yes' }));
    await until(() => reflector.values.has(`${ns}/during`), { what: 'the object' });
    expect(proxy.counts.get('list configmaps')).toBe(1);

    proxy.setRules([{ fault: { type: 'expired-watch' }, verbs: ['watch'], times: 1 }]);
    proxy.cutWatches();
    await admin.delete(CONFIG_MAPS, { namespace: ns, name: 'during' });
    await until(() => !reflector.values.has(`${ns}/during`), { what: 'the deletion' });
    await until(() => proxy.counts.get('list configmaps') === 2, { what: 'the listing' });
  });
});

describe('less than everything', () => {
  test('without the right to watch, refresh keeps it up to date', async () => {
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] }];
    const client = kubeClient(await serviceAccount(ns, 'no-watch', rules));
    const scope = { namespace: ns, labelSelector: 'poor=yes' };
    await admin.create(CONFIG_MAPS, ns, put('poor', 'one', { poor: 'yes' }));
    const { reflector, events, seen } = reflect(client, CONFIG_MAPS, scope, { random: () => 0.1 });
    await seen('unwatchable');
    await admin.patch(CONFIG_MAPS, { namespace: ns, name: 'poor' }, { data: { value: 'two' } }, { type: 'merge' });
    await Promise.all([reflector.refresh(), reflector.refresh(), reflector.refresh()]);
    expect(reflector.values.get(`${ns}/poor`)).toBe('two');
    expect(events.filter((event) => event.type === 'synced')).toHaveLength(2);
    expect(events.filter((event) => event.type === 'unwatchable')).toHaveLength(1);
  });

  test('a right that is granted later is found', async () => {
    const client = kubeClient(await serviceAccount(ns, 'nothing-yet', []));
    const { reflector, seen } = reflect(
      client,
      CONFIG_MAPS,
      { namespace: ns, labelSelector: 'poor=yes' },
      { random: () => 0.1 },
    );
    expect(await seen('unavailable')).toMatchObject({ error: { reason: 'Forbidden' } });
    const roles: Resource = {
      ...CONFIG_MAPS,
      group: 'rbac.authorization.k8s.io',
      plural: 'clusterroles',
      kind: 'ClusterRole',
      namespaced: false,
    };
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch'] }];
    await admin.patch(roles, { name: `${ns}-nothing-yet` }, { rules }, { type: 'merge' });
    await seen('synced');
    expect(reflector.values.size).toBe(1);
  });
});

test('on a control plane of its own: a kind appears, the API server is killed, nothing is lost', async () => {
  const { plane, sandbox } = await ownControlPlane({ apiOnly: true });
  const client = kubeClient(plane, { idleMs: 5000 });
  const rollouts: Resource = {
    group: 'argoproj.io',
    version: 'v1alpha1',
    plural: 'rollouts',
    kind: 'Rollout',
    namespaced: true,
  };
  const late = reflect(kubeClient(plane), rollouts, {}, { random: () => 0.1 });
  expect(await late.seen('unavailable')).toMatchObject({ error: { status: 404 } });
  await installKinds(['Rollout'], plane);
  await late.seen('synced');
  expect(late.events.filter((event) => event.type === 'unavailable')).toHaveLength(1);

  const { reflector, seen } = reflect(kubeClient(plane), CONFIG_MAPS, { namespace: 'default' }, { random: () => 0.1 });
  await seen('synced');
  await client.create(CONFIG_MAPS, 'default', put('before', 'x'));
  await until(() => reflector.values.has('default/before'), { what: 'the first object' });
  await sandbox.kill('kube-apiserver');
  await sandbox.revive('kube-apiserver');
  // A server that has just started may be slow: an answer that was not waited for shows itself at the next attempt.
  const create = () =>
    client.create(CONFIG_MAPS, 'default', put('after', 'x')).then(
      () => true,
      (error: unknown) => KubeError.is(error, 'AlreadyExists') || Promise.reject(error),
    );
  await until(create, { what: 'a server that answers' });
  await until(() => reflector.values.has('default/after'), { what: 'the object created afterwards' });
  // A server that has just started remembers nothing older than its start.
  const forgotten = async () => {
    const watch = client.watch(CONFIG_MAPS, {}, '1', { signal: AbortSignal.timeout(10_000) }).next();
    // While it is still filling its cache it asks to come back later.
    await expect(watch).rejects.toMatchObject({ status: 410, reason: 'Expired', verb: 'watch' });
    return true;
  };
  await until(forgotten, { what: 'the server having forgotten' });
});
