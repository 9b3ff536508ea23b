import { expect, test } from 'vitest';
import { envFrom, podUsing, type SourceName, sha1 } from '../../support/workloads.ts';
import { AUTO, marksOf, untilMarked } from './moves.ts';
import { MODES, scene } from './scene.ts';

const APP: SourceName = { kind: 'ConfigMap', name: 'app' };
const NAMED = { 'configmap.reloader.stakater.com/reload': 'app' };
const mounts = { volumeMounts: [{ name: 'files', mountPath: '/files' }] };
const volumes = [{ name: 'files', configMap: { name: 'app' } }];
const pod = (first: object, second: object, rest: object = {}) => ({
  containers: [
    { name: 'first', image: 'first', ...first },
    { name: 'second', image: 'second', ...second },
  ],
  ...rest,
});

const CASES = {
  'both-by-env': { annotations: AUTO, pod: pod(envFrom(APP), envFrom(APP)), marked: 'first' },
  'volume-beats-env': { annotations: AUTO, pod: pod(envFrom(APP), mounts, { volumes }), marked: 'second' },
  'both-by-volume': { annotations: AUTO, pod: pod(mounts, mounts, { volumes }), marked: 'first' },
  'unmounted-auto': { annotations: AUTO, pod: podUsing(APP, 'unmounted-volume'), marked: undefined },
  'unmounted-named': { annotations: NAMED, pod: podUsing(APP, 'unmounted-volume'), marked: 'idle' },
  'named-and-unused': { annotations: NAMED, pod: pod({}, {}), marked: 'first' },
  // Only the first volume of the source is looked at, and that one nobody mounts: the variable decides.
  'second-volume': {
    annotations: AUTO,
    pod: pod(
      envFrom(APP),
      { volumeMounts: [{ name: 'again', mountPath: '/files' }] },
      {
        volumes: [...volumes, { name: 'again', configMap: { name: 'app' } }],
      },
    ),
    marked: 'first',
  },
};

test.each(MODES)('5. exactly one container is marked, and it is the right one: %s', async (mode) => {
  await using here = await scene();
  await here.createSource('ConfigMap', 'app', { a: '1' });
  for (const [name, { annotations, pod: spec }] of Object.entries(CASES)) {
    await here.create('Deployment', name, { annotations, pod: spec });
  }
  await here.start([mode]);
  await here.setData('ConfigMap', 'app', { a: '2' });
  // A conflict with somebody's status may make one of them later than the fence.
  for (const [name, { marked }] of Object.entries(CASES)) {
    if (marked !== undefined) await untilMarked(here.audit, 'Deployment', name, { a: '2' });
  }
  await here.fence.pass();
  const marks = Object.keys(CASES).map((name) => [name, marksOf('Deployment', here.audit.latest('Deployment', name))]);
  const expected = Object.entries(CASES).map(([name, { marked }]) => {
    return [name, marked === undefined ? {} : { [`${marked}/STAKATER_APP_CONFIGMAP`]: sha1({ a: '2' }) }];
  });
  expect(Object.fromEntries(marks)).toEqual(Object.fromEntries(expected));
});
