import { expect, test } from 'vitest';
import { Cluster, type Json } from './cluster.ts';
import { createDeployment, SHOP, startReplica } from './replicas.ts';

type Strategy = 'env-vars' | 'annotations';

/** A Deployment that a ReloaderConfig reloads for one ConfigMap, and its own annotation for another: each with its strategy. */
async function twoWhoAsk(byConfig: Strategy, byFlag: Strategy) {
  const cluster = new Cluster();
  for (const name of ['x', 'y']) cluster.create('configmaps', SHOP, { metadata: { name }, data: { value: 'a' } });
  createDeployment(cluster, 'web', ['x', 'y'], {
    'reloader.stakater.com/auto': '',
    'configmap.reloader.stakater.com/reload': 'y',
  });
  cluster.create('reloaderconfigs', SHOP, {
    metadata: { name: 'web' },
    spec: {
      watchedResources: { configMaps: ['x'] },
      targets: [{ kind: 'Deployment', name: 'web' }],
      reloadStrategy: byConfig,
    },
  });
  const start = async (strategy: Strategy) => {
    const replica = startReplica(cluster, 'one', { elects: false, flags: [`--reload-strategy=${strategy}`] });
    await cluster.clock.run(5000);
    return replica;
  };
  return {
    cluster,
    start,
    replica: await start(byFlag),
    async change(...names: readonly string[]): Promise<void> {
      for (const name of names) cluster.patch('configmaps', SHOP, name, { data: { value: `b${cluster.version}` } });
      await cluster.clock.run(30_000);
    },
    /** How often the template changed. */
    rolls: (): number => {
      const templates = cluster.happenings.flatMap(({ plural, object }) =>
        plural === 'deployments' ? [JSON.stringify(object.spec.template)] : [],
      );
      return templates.filter((text, at) => at > 0 && text !== templates[at - 1]).length;
    },
    status: (): Json => cluster.find('reloaderconfigs', SHOP, 'web').status,
  };
}

test.each([
  ['annotations', 'env-vars'],
  ['env-vars', 'annotations'],
] as const)('%s by a ReloaderConfig beside %s by the flag: each change is one rollout', async (byConfig, byFlag) => {
  for (const order of [['x', 'y'], ['y', 'x'], [['x', 'y']]]) {
    const { cluster, replica, change, rolls, status } = await twoWhoAsk(byConfig, byFlag);
    for (const names of order) await change(...[names].flat());
    expect(rolls(), `${order}`).toBe(order.length);
    expect(replica.warnings).toEqual([]);
    expect(replica.gauge('attune_reverted_total')).toBe(0);
    expect(replica.gauge('attune_undelivered_changes')).toBe(0);
    const { reloadCount, targetStatus } = status();
    expect([reloadCount, targetStatus[0].reloadCount]).toEqual([1, 1]);
    const { metadata, spec } = cluster.find('deployments', SHOP, 'web').spec.template;
    // Each mark is where its own strategy puts it, also where one write has both.
    const marked = byConfig === 'annotations' ? 'y' : 'x';
    expect(spec.containers[0].env.map(({ name }: Json) => name)).toEqual([
      `STAKATER_${marked.toUpperCase()}_CONFIGMAP`,
    ]);
    const cause = JSON.parse(metadata.annotations['reloader.stakater.com/last-reloaded-from']);
    expect(cause.name).toBe(marked === 'x' ? 'y' : 'x');
    await replica.end();
  }
});

test('another strategy, by an edit of the ReloaderConfig and by the flag of the next start, reloads nothing by itself', async () => {
  const { cluster, replica, start, change, rolls, status } = await twoWhoAsk('annotations', 'env-vars');
  await change('x', 'y');
  cluster.patch('reloaderconfigs', SHOP, 'web', { spec: { reloadStrategy: 'env-vars' } });
  await cluster.clock.run(30_000);
  expect(rolls()).toBe(1);
  await change('x');
  await change('y');
  await replica.end();
  const next = await start('annotations');
  expect(rolls()).toBe(3);
  await change('y');
  await change('x');
  expect(rolls()).toBe(5);
  expect([...replica.warnings, ...next.warnings]).toEqual([]);
  expect([status().reloadCount, status().targetStatus[0].reloadCount]).toEqual([3, 3]);
  await next.end();
});
