import { expect, test } from 'vitest';
import { crd } from '../../../src/api/reloader-config/crd.ts';
import { installKinds } from '../../support/crds.ts';
import { olderDefinition } from '../../support/older-definition.ts';
import { api, ownControlPlane } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { change, configPath, configWorld } from './config-world.ts';

const DEFINITION = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/reloaderconfigs.reloader.stakater.com';

test('the definition comes, goes and comes again: it is followed, and nothing rolls by it', async () => {
  const { plane } = await ownControlPlane();
  await using world = await configWorld({ access: plane });
  const { shop } = world;
  const admin = api(plane);
  const uninstall = async () => {
    await admin.delete(DEFINITION);
    await until(async () => !(await admin.find(DEFINITION)), { what: 'the definition gone' });
  };
  await uninstall();
  await shop.source('ConfigMap', 'app');
  await shop.target('Deployment', 'app');
  const controller = await world.start();
  await controller.untilLine(/ReloaderConfigs are followed as soon as/);
  const spec = { watchedResources: { configMaps: ['app'] }, targets: [{ kind: 'Deployment', name: 'app' }] };
  for (const [at, definition] of [crd(), olderDefinition()].entries()) {
    const times = at + 1;
    await admin.create(DEFINITION.slice(0, DEFINITION.lastIndexOf('/')), definition);
    await installKinds(['ReloaderConfig'], plane);
    await change(shop, 'ConfigMap', 'app');
    await shop.config('app', spec);
    // It counts from its creation, however long it takes until somebody follows it.
    await change(shop, 'ConfigMap', 'app');
    await shop.untilRolled('app', times);
    await world.fence();
    expect(shop.rolls('app')).toBe(times);
    const told = async () => (await admin.get(configPath(shop.name, 'app')))['status'];
    // What an older definition lacks is looked at for half a minute; until it is known, the server refuses the status.
    const status = await until(told, { what: 'its status', deadlineMs: 90_000 });
    expect(status).toMatchObject({ observedGeneration: 1, targetStatus: [{ name: 'app' }] });
    expect(Object.hasOwn(status, 'targetCount')).toBe(times === 1);
    await uninstall();
    await until(async () => (await controller.metric('attune_reloader_configs')) === 0, {
      what: 'the controller knowing that its config is gone',
    });
    await change(shop, 'ConfigMap', 'app');
    await world.fence();
    expect(shop.rolls('app')).toBe(times);
  }
  await controller.untilLine(/the installed definition of ReloaderConfig does not have spec\.alerts, /);
  expect(controller.lines.filter((line) => /ReloaderConfigs are followed as soon as/.test(line))).toHaveLength(1);
}, 360_000);
