import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { api } from '../../support/sandbox.ts';
import { DIALECTS, type Manifest, type World, world } from './world.ts';

const RECORD = 'attune.dev/record';

describe.each(DIALECTS.filter(({ flags }) => flags.length === 0))('$title', (dialect) => {
  let w: World;
  beforeAll(async () => {
    w = await world(dialect);
  });
  afterAll(() => w[Symbol.asyncDispose]());

  test('an edit of metadata while a change waits does not roll; afterwards the change does, once', async () => {
    await using scene = await w.scene();
    await scene.reload('v2');
    const annotations = {
      ...scene.manifest.metadata.annotations,
      // Long enough for what is written until the fence has passed, on any machine.
      'attune.dev/quiet-period': '12s',
      'attune.dev/max-wait': '12s',
    };
    await api().patch(scene.path, { metadata: { annotations } });
    await scene.moves.setData('ConfigMap', 'c', { k: 'v3' });
    const labels = { edited: 'yes' };
    await api().replace(scene.path, {
      ...scene.manifest,
      metadata: { ...scene.manifest.metadata, annotations, labels },
    });
    await scene.fence();
    expect(scene.deployment().metadata.labels).toEqual(labels);
    expect(scene.rolls()).toBe(1);
    await scene.audit.until('the change that waited', () => scene.rolls() === 2);
    await scene.complete();
    await scene.fence();
    expect(scene.rolls()).toBe(2);
  });

  test('while nobody answers writes go on, the reload arrives, and a mark that is dropped comes back once', async () => {
    await using scene = await w.scene();
    await scene.reload('v2');
    const { template } = scene.deployment()['spec'] as Manifest['spec'];
    const [replica] = w.replicas.splice(0);
    await replica?.kill9();
    await scene.moves.setData('ConfigMap', 'c', { k: 'v3' });
    // The rollout stays open: a mark that is taken away later proves nothing against the pods.
    const spec = { ...scene.manifest.spec, minReadySeconds: 500 };
    await api().patch(scene.path, { metadata: { labels: { written: 'meanwhile' } }, spec: { minReadySeconds: 500 } });
    w.replicas.push(await w.stage.serve(['--quiet-period=100ms', ...dialect.flags]));
    await scene.audit.until('the reload', () => scene.rolls() === 2);
    // Registered, but reached by nobody: as if every replica were gone, while the controller lives.
    const served = w.replicas[0]?.backend;
    w.stage.service.backends.clear();
    w.stage.service.cut();
    await api().replace(scene.path, { ...scene.manifest, spec: { ...spec, template } });
    await scene.audit.until('applied once more', () => scene.rolls() === 4);
    if (served) w.stage.service.backends.add(served);
    await api().patch(scene.path, { spec: { minReadySeconds: 0 } });
    await scene.complete();
    await scene.fence();
    expect(scene.rolls()).toBe(4);
    expect(scene.deployment().metadata.annotations).toHaveProperty([RECORD]);
  });

  test('a person takes a mark away on purpose, and after opting out nothing comes back', async () => {
    await using scene = await w.scene();
    await scene.reload('v2');
    await scene.kubectl(['annotate', 'deployment/d', '--field-manager=Reloader', `${RECORD}-`]);
    expect((await api().get(scene.path)).metadata.annotations).not.toHaveProperty([RECORD]);
    await scene.reload('v3');
    await api().replace(scene.path, { ...scene.manifest, metadata: { name: 'd' } });
    const { metadata, spec } = await api().get(scene.path);
    expect([metadata.annotations?.[RECORD], JSON.stringify(spec.template)]).toEqual([
      undefined,
      expect.not.stringMatching(/STAKATER_|config-hash/),
    ]);
  });
});
