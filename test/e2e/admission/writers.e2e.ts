import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { api, controlPlane } from '../../support/sandbox.ts';
import { rounds } from '../../support/soak.ts';
import { until } from '../../support/wait.ts';
import { helmOrThrow } from '../chart/helm.ts';
import { chartOf } from './chart.ts';
import { DIALECTS, patient, type Scene, type World, world } from './world.ts';

/** Somebody writes after a reload; nothing may roll by it, and the next change must. */
async function leavesAlone(scene: Scene, write: () => Promise<unknown>): Promise<void> {
  await scene.reload('v2');
  // The generation proves nothing: it also counts annotations, and a manifest drops those of the Deployment controller.
  const [pods, replicaSets] = [scene.pods(), scene.replicaSets()];
  await write();
  await scene.fence();
  expect(scene.rolls()).toBe(1);
  expect(scene.pods()).toEqual(pods);
  expect(scene.replicaSets()).toEqual(replicaSets);
  await scene.reload('v3');
  await scene.fence();
  expect(scene.rolls()).toBe(2);
  expect(scene.pods().filter((uid) => pods.includes(uid))).toEqual([]);
}

const put = (scene: Scene) => api().replace(scene.path, scene.manifest);

/** As operators do: the object as it is, with their own spec, and the version that they have read. */
async function putSpec(scene: Scene): Promise<unknown> {
  const { metadata, ...live } = await api().get(scene.path);
  return await api().replace(scene.path, { ...live, metadata, spec: scene.manifest.spec });
}

describe.each(DIALECTS.slice(0, rounds(2, 4)))('$title', (dialect) => {
  let w: World;
  beforeAll(async () => {
    w = await world(dialect);
  });
  afterAll(() => w[Symbol.asyncDispose]());

  test('T1: kubectl replace after the rollout', async () => {
    await using scene = await w.scene();
    await leavesAlone(scene, () => scene.kubectl(['replace', '-f', '-'], scene.manifest));
  });

  test('T1: a PUT with and without a resourceVersion', async () => {
    await using scene = await w.scene();
    await leavesAlone(scene, async () => {
      await put(scene);
      await until(() => putSpec(scene), { what: 'a PUT that nobody has overtaken' });
    });
  });

  test('T2: a PUT during the rollout loses nothing', async () => {
    await using scene = await w.scene(2);
    const old = scene.pods();
    await scene.change('v2');
    await put(scene);
    await scene.complete();
    await scene.fence();
    expect(scene.rolls()).toBe(1);
    expect(scene.pods().filter((uid) => old.includes(uid))).toEqual([]);
  });

  test('T3: an operator that puts its manifest back falls silent, and nothing is lost', async () => {
    await using scene = await w.scene(1);
    const old = scene.pods();
    const stop = new AbortController();
    let puts = 0;
    let seen = scene.deployment().metadata.resourceVersion;
    const operator = (async () => {
      while (!stop.signal.aborted) {
        await scene.audit.until(
          'news',
          () => stop.signal.aborted || scene.deployment().metadata.resourceVersion !== seen,
        );
        seen = scene.deployment().metadata.resourceVersion;
        puts += 1;
        // Who was overtaken hears of that next.
        await putSpec(scene).catch(() => {});
      }
    })();
    await scene.change('v2');
    await scene.complete();
    await scene.fence();
    const { resourceVersion } = scene.deployment().metadata;
    await scene.fence();
    expect(scene.deployment().metadata.resourceVersion).toBe(resourceVersion);
    await scene.reload('v3');
    stop.abort();
    await api().patch(scene.path, { metadata: { labels: { wake: 'up' } } });
    await operator;
    expect(puts).toBeGreaterThan(0);
    expect(scene.rolls()).toBe(2);
    expect(scene.pods().filter((uid) => old.includes(uid))).toEqual([]);
  });

  test('T4: kubectl apply, client-side and server-side', async () => {
    await using scene = await w.scene();
    await leavesAlone(scene, async () => {
      const server = ['apply', '--server-side', '-f', '-'];
      await scene.kubectl(['apply', '-f', '-'], scene.manifest);
      await scene.kubectl([...server, '--force-conflicts'], scene.manifest);
      await scene.kubectl(server, scene.manifest);
    });
  });

  test('T4 and T5: helm upgrade, also forced', async () => {
    await using scene = await w.scene();
    const chart = chartOf({ ...scene.manifest, metadata: { ...scene.manifest.metadata, name: 'h' } });
    const upgrade = (...more: string[]) =>
      helmOrThrow([
        'upgrade',
        '--install',
        'h',
        chart,
        '-n',
        scene.space,
        '--kubeconfig',
        controlPlane().kubeconfig,
        ...more,
      ]);
    await upgrade();
    await scene.audit.until('the release', () => scene.audit.latest('Deployment', 'h'));
    const templates = () => scene.audit.templates('Deployment', 'h').length;
    await scene.moves.setData('ConfigMap', 'c', { k: 'v2' });
    await scene.audit.until('the reload', () => templates() === 2);
    // A forced upgrade reads and then replaces: who writes a status in between makes it fail.
    await scene.complete('h');
    await upgrade();
    await upgrade('--set', 'label=other');
    await upgrade('--force');
    await scene.fence();
    expect(templates()).toBe(2);
  });

  test('T6: rollout undo, then the data back', async () => {
    await using scene = await w.scene();
    await scene.reload('v2');
    await scene.reload('v3');
    const warned = await scene.kubectl(['rollout', 'undo', 'deployment/d']);
    await scene.fence();
    await scene.complete();
    const pods = scene.pods();
    await scene.moves.setData('ConfigMap', 'c', { k: 'v2' });
    await scene.audit.until('pods with v2', () => scene.pods().every((uid) => !pods.includes(uid)));
    await scene.complete();
    expect(warned).not.toBe('');
  });

  test('an image and the ConfigMap in one go are one rollout', async () => {
    await using scene = await w.scene();
    const times = 5;
    await scene.kubectl(['apply', '-f', '-'], patient(scene.manifest));
    for (let n = 1; n <= times; n += 1) {
      const c = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { k: `both-${n}` } };
      const d = structuredClone(patient(scene.manifest));
      for (const container of d.spec.template.spec.containers) container.image = `image-${n}`;
      await scene.kubectl(['apply', '-f', '-'], { apiVersion: 'v1', kind: 'List', items: [c, d] });
      await scene.audit.until('the image', () => JSON.stringify(scene.deployment()['spec']).includes(`image-${n}`));
      await scene.fence();
    }
    expect(scene.rolls()).toBe(times);
    // The fence is seen by the auditor a moment before its writer has the answer.
    const isDone = async () => (await w.replicas[0]?.metric('attune_pending_workloads')) === 0;
    await until(isDone, { what: 'nothing to wait' });
    expect(scene.rolls()).toBe(times);
  });
});
