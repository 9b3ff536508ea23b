import { beforeAll, expect, test } from 'vitest';
import { RECORD, ROLLOUT_STRATEGY } from '../../../src/api/annotations.ts';
import { installKinds } from '../../support/crds.ts';
import { podUsing, sha1 } from '../../support/workloads.ts';
import { AUTO, marksOf, untilMarked } from './moves.ts';
import { COMPAT, DEFAULT, MODES, scene } from './scene.ts';

const ON = '--is-Argo-Rollouts=true';
const A = { value: 'a' };
const B = { value: 'b' };
const MARK = 'app/STAKATER_APP_CONFIGMAP';
const pod = podUsing({ kind: 'ConfigMap', name: 'app' }, 'envFrom');

beforeAll(() => installKinds(['Rollout']));

test.each(MODES)('7. a Rollout is rolled by its template, or by restartAt and nothing else: %s', async (mode) => {
  await using here = await scene(['Rollout']);
  await here.createSource('ConfigMap', 'app', A);
  const plain = await here.create('Rollout', 'plain', { annotations: AUTO, pod });
  const restart = { ...AUTO, [ROLLOUT_STRATEGY]: 'restart' };
  const before = await here.create('Rollout', 'restarted', { annotations: restart, pod });
  await here.start([mode, ON]);
  await here.setData('ConfigMap', 'app', B);

  const rolled = await untilMarked(here.audit, 'Rollout', 'plain', B);
  expect(marksOf('Rollout', rolled)).toEqual({ [MARK]: sha1(B) });
  expect({ ...rolled['spec'], template: undefined }).toEqual({ ...plain['spec'], template: undefined });

  const restarted = await here.audit.until('restartAt', () => {
    const seen = here.audit.latest('Rollout', 'restarted');
    return seen?.['spec'].restartAt && seen;
  });
  const { restartAt, ...spec } = restarted['spec'];
  expect(restartAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  expect(spec).toEqual(before['spec']);
  const { [RECORD]: record, ...annotations } = restarted.metadata.annotations ?? {};
  expect(annotations).toEqual(restart);
  expect(record === undefined).toBe(mode === COMPAT);

  // Nothing in the spec remembers it, so the next change restarts again; a restart of Attune does not.
  await here.fence.pass();
  expect(here.audit.sightings('Rollout', 'restarted')).toHaveLength(2);
});

test.each(MODES)('7. without the flag, or with another spelling of true, no Rollout is touched: %s', async (mode) => {
  await using here = await scene(['Rollout']);
  await here.createSource('ConfigMap', 'app', A);
  const before = await here.create('Rollout', 'plain', { annotations: AUTO, pod });
  await here.start([mode, '--is-Argo-Rollouts=True']);
  await here.setData('ConfigMap', 'app', B);
  await here.fence.pass();
  expect(here.audit.latest('Rollout', 'plain')?.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
});

const borrower = (deployment: string) => {
  const workloadRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: deployment };
  return { replicas: 0, workloadRef, selector: undefined, template: undefined };
};

test('7. Stakater: a Rollout with workloadRef is left alone, and so is what it refers to', async () => {
  await using here = await scene(['Rollout']);
  await here.createSource('ConfigMap', 'app', A);
  await here.create('Deployment', 'lender', { pod });
  const before = await here.create('Rollout', 'borrower', { annotations: AUTO, spec: borrower('lender') });
  await here.start([COMPAT, ON]);
  await here.setData('ConfigMap', 'app', B);
  await here.fence.pass();
  expect(here.audit.latest('Rollout', 'borrower')?.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  expect(here.audit.templates('Deployment', 'lender')).toHaveLength(1);
});

test('7. by default the Deployment that a Rollout refers to is patched, and once if it asks too', async () => {
  await using here = await scene(['Rollout']);
  await here.createSource('ConfigMap', 'app', A);
  await here.create('Deployment', 'lender', { pod });
  await here.create('Deployment', 'asks-too', { annotations: AUTO, pod });
  const before = await here.create('Rollout', 'borrower', { annotations: AUTO, spec: borrower('lender') });
  await here.create('Rollout', 'second', { annotations: AUTO, spec: borrower('asks-too') });
  await here.start([DEFAULT, ON]);
  await here.setData('ConfigMap', 'app', B);
  for (const name of ['lender', 'asks-too']) await untilMarked(here.audit, 'Deployment', name, B);
  await here.fence.pass();
  for (const name of ['lender', 'asks-too']) expect(here.audit.templates('Deployment', name)).toHaveLength(2);
  expect(here.audit.latest('Rollout', 'borrower')?.['spec']).toEqual(before['spec']);
});
