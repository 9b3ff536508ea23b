import { expect, test } from 'vitest';
import { isObserved } from '../../support/workloads.ts';
import { untilMarked } from './moves.ts';
import { COMPAT, DEFAULT, scene } from './scene.ts';

const A = { value: 'a' };
const B = { value: 'b' };

test.each([DEFAULT, COMPAT])('4. A→B→A rolls twice, and a restart delivers nothing again: %s', async (mode) => {
  await using here = await scene();
  await here.createSource('ConfigMap', 'app', A);
  await here.createUser('web', 'app');
  const attune = await here.start([mode]);
  for (const data of [B, A]) {
    await here.setData('ConfigMap', 'app', data);
    await untilMarked(here.audit, 'Deployment', 'web', data);
  }
  await attune.stop();
  await here.start([mode]);
  await here.fence.pass();
  expect(here.audit.templates('Deployment', 'web')).toHaveLength(3);
});

test('4. A→B→A within the quiet period is no rollout', async () => {
  await using here = await scene();
  await here.createSource('ConfigMap', 'app', A);
  await here.createUser('web', 'app');
  await here.audit.until('it is rolled out', () => isObserved(here.audit.latest('Deployment', 'web')));
  // Long enough for two requests on a machine that has other things to do.
  await here.start(['--quiet-period=5s']);
  await here.setData('ConfigMap', 'app', B);
  await here.setData('ConfigMap', 'app', A);
  await here.fence.pass();
  expect(here.audit.templates('Deployment', 'web')).toHaveLength(1);
});

test('4. several sources changed together are one rollout, with the mark of each', async () => {
  await using here = await scene();
  const names = ['one', 'two', 'three'];
  for (const name of names) await here.createSource('ConfigMap', name, A);
  const envFrom = names.map((name) => ({ configMapRef: { name } }));
  const annotations = { 'reloader.stakater.com/auto': 'true' };
  const pod = { containers: [{ name: 'app', image: 'app', envFrom }] };
  await here.create('Deployment', 'web', { annotations, pod });
  await here.start(['--quiet-period=5s']);
  await Promise.all(names.map((name) => here.setData('ConfigMap', name, B)));
  await untilMarked(here.audit, 'Deployment', 'web', B);
  await here.fence.pass();
  const [, last = '', ...more] = here.audit.templates('Deployment', 'web');
  expect(more).toEqual([]);
  expect(last.match(/STAKATER_\w+_CONFIGMAP/g)?.sort()).toEqual(
    names.map((name) => `STAKATER_${name.toUpperCase()}_CONFIGMAP`).sort(),
  );
});
