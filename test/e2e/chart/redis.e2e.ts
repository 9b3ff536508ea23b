import { describe, expect, it, onTestFinished } from 'vitest';
import { crd } from '../../../src/api/redis-cluster/crd.ts';
import { api, namespace, ownControlPlane } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { CHART, helmOrThrow, only, refusal, render, type Values } from './helm.ts';

const redis = (enabled: unknown, reloader: Values = {}): Values => ({ attune: { redis: { enabled } }, reloader });
const DEFINITION = 'redisclusters.redis.io';
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

describe('the chart', () => {
  it.each<[string, Values]>([
    ['by default', {}],
    ['switched off by a word', redis('false')],
    ['with values of a chart that had none', { attune: { redis: null } }],
  ])('has nothing about Redis %s', async (_, values) => {
    expect(JSON.stringify(await render(values))).not.toContain('redis');
  });

  it.each([true, 'true'])('has the definition as the program makes it, with %o', async (enabled) => {
    const manifests = await render(redis(enabled));
    const { spec, metadata } = only(manifests, 'CustomResourceDefinition', DEFINITION);
    expect(spec).toEqual(JSON.parse(JSON.stringify(crd().spec)));
    expect(metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
  });

  it('gives the controller no right on it, and nobody where rights come from elsewhere', async () => {
    const rules = (await render(redis(true))).filter(({ metadata }) => !metadata.name.includes('redisclusters'));
    expect(JSON.stringify(rules)).not.toContain('redis');
    const without = await render(redis(true, { rbac: { enabled: false } }));
    expect(without.filter(({ metadata }) => metadata.name.includes('redis')).map(({ kind }) => kind)).toEqual([
      'CustomResourceDefinition',
    ]);
  });

  it('refuses what it does not know', async () => {
    expect(await refusal({ attune: { redis: { enable: true } } })).toContain('/attune/redis');
    expect(await refusal(redis('perhaps'))).toContain('/attune/redis/enabled');
  });
});

it('brings the definition, a later one too, and leaves it and all objects when the release goes', async () => {
  const { plane } = await ownControlPlane();
  const admin = api(plane);
  const run = (...words: readonly string[]) => helmOrThrow([...words, '--kubeconfig', plane.kubeconfig]);
  expect(await run('install', 'shop', CHART)).not.toContain('RedisClusters');
  expect(await admin.find(`${DEFINITIONS}/${DEFINITION}`)).toBeUndefined();
  const told = await run('upgrade', 'shop', CHART, '--set', 'attune.redis.enabled=true');
  expect(told).toContain('kubectl explain redisclusters.spec');
  expect(told).not.toContain('PLEASE CHECK');
  const objects = '/apis/redis.io/v1/namespaces/default/redisclusters';
  const object = { apiVersion: 'redis.io/v1', kind: 'RedisCluster', metadata: { name: 'redis' }, spec: {} };
  await until(() => admin.create(objects, object), { what: 'RedisClusters being served' });
  await run('upgrade', 'shop', CHART, '--set', 'attune.redis.enabled=true,reloader.logLevel=debug');
  // Nobody runs pods here, and so no hooks.
  await run('uninstall', 'shop', '--no-hooks');
  expect((await admin.list(objects)).map(({ metadata }) => metadata.name)).toEqual(['redis']);
  // Whoever installs it again gets on with what is there.
  await run('install', 'shop', CHART, '--set', 'attune.redis.enabled=true');
  expect(await admin.list(objects)).toHaveLength(1);
});

describe('who may look at a namespace, or change it', async () => {
  const admin = api();
  const shop = await namespace('chart-redis');
  const roles = '/apis/rbac.authorization.k8s.io/v1';

  async function mayDo(role: string, verb: string, where: { namespace?: string; subresource?: string } = {}) {
    const attributes = { namespace: shop, group: 'redis.io', resource: 'redisclusters', verb, ...where };
    const review = { spec: { user: `${shop}-${role}`, resourceAttributes: attributes } };
    const answer = await admin.create('/apis/authorization.k8s.io/v1/subjectaccessreviews', review);
    return answer['status'].allowed as boolean;
  }

  it('may do the same with its RedisClusters; who may change them may also name the primary', async () => {
    const granting = (await render(redis(true), shop)).filter(
      ({ kind, metadata }) => kind === 'ClusterRole' && metadata.name.includes('redisclusters'),
    );
    expect(granting).toHaveLength(2);
    for (const role of granting) {
      await admin.create(`${roles}/clusterroles`, role);
      onTestFinished(async () => void (await admin.delete(`${roles}/clusterroles/${role.metadata.name}`)));
    }
    for (const role of ['view', 'edit', 'admin']) {
      await admin.create(`${roles}/namespaces/${shop}/rolebindings`, {
        metadata: { name: role },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: `${shop}-${role}` }],
      });
    }
    // A controller puts the roles together.
    for (const [role, verb] of [
      ['view', 'watch'],
      ['edit', 'create'],
      ['admin', 'delete'],
    ] as const) {
      await until(() => mayDo(role, verb), { what: `${role} being granted ${verb}` });
    }
    expect(await mayDo('edit', 'list')).toBe(true);
    expect(await mayDo('edit', 'patch', { subresource: 'status' })).toBe(true);
    expect(await mayDo('view', 'create')).toBe(false);
    expect(await mayDo('view', 'patch', { subresource: 'status' })).toBe(false);
    expect(await mayDo('admin', 'get', { namespace: 'default' })).toBe(false);
  });
});
