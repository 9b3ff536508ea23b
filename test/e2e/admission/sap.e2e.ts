import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AnyObject, ApiRefusal, api } from '../../support/sandbox.ts';
import { rounds } from '../../support/soak.ts';
import { until } from '../../support/wait.ts';
import { pathOf } from '../../support/workloads.ts';
import { DIALECTS, patient, type Scene, type World, world } from './world.ts';

const HASH = 'pod-reloader.cs.sap.com/config-hash';
const LISTS = 'pod-reloader.cs.sap.com/configmaps';
const MISMATCH = 'injected hash does not match calculated hash';
const sap = (title: string) => DIALECTS.find((dialect) => dialect.title === title) as (typeof DIALECTS)[number];

/** SAP's digest, written down a second time. */
async function byVersion(scene: Scene, ...names: readonly string[]): Promise<string> {
  let text = '';
  for (const name of names) {
    const { metadata } = (await api().find(pathOf('ConfigMap', scene.space, name))) ?? {};
    text += `configmap/${scene.space}/${name}/${metadata ? `${metadata.uid}.${metadata.resourceVersion}` : ''}\n`;
  }
  return createHash('sha256').update(text).digest('hex');
}

const hashOf = (object: AnyObject): unknown => object['spec'].template.metadata.annotations?.[HASH];
const token = (value: string) => ({ metadata: { annotations: { [HASH]: value } } });

describe.each([sap('SAP'), sap('SAP under compat')])('$title', (dialect) => {
  const isCompat = dialect.flags.length > 0;
  let w: World;
  beforeAll(async () => {
    w = await world(dialect);
  });
  afterAll(() => w[Symbol.asyncDispose]());

  test('the hash is there from birth, so nothing rolls twice', async () => {
    await using scene = await w.scene();
    await scene.fence();
    expect(hashOf(scene.deployment())).toMatch(/^[0-9a-f]{64}$/);
    expect(scene.rolls()).toBe(0);
    if (isCompat) expect(hashOf(scene.deployment())).toBe(await byVersion(scene, 'c'));
  });

  test('T7: a wrong token is refused, the right one reloads and is gone afterwards', async () => {
    await using scene = await w.scene();
    const refused = await api()
      .patch(scene.path, token('deadbeef'))
      .catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ApiRefusal);
    expect(refused).toMatchObject({ status: 400 });
    expect(String(refused)).toContain(MISMATCH);
    const before = hashOf(scene.deployment());
    await scene.reload('v2');
    const answer = await api().patch(scene.path, token(await byVersion(scene, 'c')));
    expect(answer.metadata.annotations).not.toHaveProperty([HASH]);
    expect(hashOf(answer)).not.toBe(before);
    await scene.fence();
    expect(scene.rolls()).toBe(1);
  });

  // As SAP, every write sets the hash of the moment.
  if (!isCompat) {
    test('a hash of an earlier version stays, whoever writes, until the data changes', async () => {
      await using scene = await w.scene();
      const earlier = createHash('sha256').update('by data alone').digest('hex');
      const annotated = { spec: { template: { metadata: { annotations: { [HASH]: earlier } } } } };
      await api().patch(`${scene.path}?fieldManager=Reloader`, annotated);
      await scene.audit.until('the hash', () => hashOf(scene.deployment()) === earlier);
      await scene.complete();
      const before = scene.rolls();
      await api().patch(scene.path, { metadata: { labels: { touched: 'yes' } } });
      await api().replace(scene.path, scene.manifest);
      await api().patch(scene.path, token(await byVersion(scene, 'c')));
      await scene.fence();
      expect([scene.rolls(), hashOf(scene.deployment())]).toEqual([before, earlier]);
      expect(scene.deployment().metadata.annotations).not.toHaveProperty([HASH]);
      await scene.reload('v2');
      await scene.fence();
      expect(scene.rolls()).toBe(before + 1);
      expect(hashOf(scene.deployment())).toMatch(/^[0-9a-f]{64}$/);
      expect(hashOf(scene.deployment())).not.toBe(earlier);
    });
  }

  test('a label switches it off, also for a manifest with an old token', async () => {
    await using scene = await w.scene();
    const label = 'pod-reloader.cs.sap.com/ignored';
    await api().patch(scene.path, { metadata: { labels: { [label]: 'true' } } });
    await scene.fence();
    const before = scene.rolls();
    await scene.moves.setData('ConfigMap', 'c', { k: 'v2' });
    await scene.fence();
    expect(scene.rolls()).toBe(before);
    expect(scene.deployment().metadata.annotations).not.toHaveProperty([HASH]);
  });

  test('T8: five missing ConfigMaps that are created within a second are one rollout', async () => {
    await using scene = await w.scene();
    const names = ['one', 'two', 'three', 'four', 'five'];
    // The flag's 100 ms are over before a busy machine has made all five.
    const quiet = { 'attune.dev/quiet-period': '10s', 'attune.dev/max-wait': '30s' };
    const annotations = { [LISTS]: names.join(','), ...quiet };
    const { spec, ...rest } = structuredClone(scene.manifest);
    const name = 'storm';
    await api().create(pathOf('Deployment', scene.space), { ...rest, metadata: { name, annotations }, spec });
    await scene.audit.until('the Deployment', () => scene.audit.latest('Deployment', name));
    await scene.fence();
    const templates = () => scene.audit.templates('Deployment', name).length;
    expect(templates()).toBe(1);
    await Promise.all(names.map((each) => scene.moves.createSource('ConfigMap', each, { k: 'v' })));
    await scene.audit.until('the rollout', () => templates() === 2);
    await scene.fence();
    expect(templates()).toBe(2);
  });

  test('T7: ConfigMap and image in one file, many times: one rollout each', async () => {
    await using scene = await w.scene();
    const times = rounds(10, 100);
    await scene.kubectl(['apply', '-f', '-'], patient(scene.manifest));
    for (let n = 1; n <= times; n += 1) {
      const d = structuredClone(patient(scene.manifest));
      for (const container of d.spec.template.spec.containers) container.image = `image-${n}`;
      const c = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { k: `both-${n}` } };
      await scene.kubectl(['apply', '-f', '-'], { apiVersion: 'v1', kind: 'List', items: [c, d] });
    }
    await scene.fence();
    expect(scene.rolls()).toBe(times);
    // The fence is seen by the auditor a moment before its writer has the answer.
    const isDone = async () => (await w.replicas[0]?.metric('attune_pending_workloads')) === 0;
    await until(isDone, { what: 'nothing to wait' });
    expect(scene.rolls()).toBe(times);
  }, 600_000);
});
