import { expect, test } from 'vitest';
import { DEFAULT_KEYS } from '../../../src/api/annotations.ts';
import { type AnyObject, api } from '../../support/sandbox.ts';
import { pathOf, sha1 } from '../../support/workloads.ts';
import { AUTO, marksOf, untilMarked } from './moves.ts';
import { DEFAULT, MODES, type Scene, scene } from './scene.ts';

const { pausePeriod, pausedAt } = DEFAULT_KEYS;
const V1 = { value: '1' };
const V2 = { value: '2' };
const V3 = { value: '3' };
const MARK = 'app/STAKATER_APP_CONFIGMAP';

const pauses = (period: string) => ({ annotations: { ...AUTO, [pausePeriod]: period } });
const isPaused = (object: AnyObject | undefined): boolean => object?.['spec'].paused === true;
const web = (here: Scene) => here.audit.latest('Deployment', 'web');
const replicaSets = (here: Scene) =>
  here.audit.all('ReplicaSet').filter(({ metadata }) => metadata.name.startsWith('web-'));

const untilPaused = (here: Scene) =>
  here.audit.until('web paused', () => {
    const seen = web(here);
    return seen && isPaused(seen) && seen;
  });
const untilResumed = (here: Scene) =>
  here.audit.until('web resumed', () => {
    const seen = web(here);
    return seen && !isPaused(seen) && seen.metadata.annotations?.[pausedAt] === undefined && seen;
  });

async function paused(mode: string, period: string) {
  const here = await scene(['ReplicaSet']);
  await here.createSource('ConfigMap', 'app', V1);
  await here.createUser('web', 'app', pauses(period));
  await here.audit.until('the first ReplicaSet', () => replicaSets(here).length === 1);
  const attune = await here.start([mode]);
  await here.setData('ConfigMap', 'app', V2);
  await untilPaused(here);
  await untilMarked(here.audit, 'Deployment', 'web', V2);
  return { here, attune };
}

test.concurrent.each(MODES)(
  '9. the first change pauses, further ones gather, and after the period there is one rollout: %s',
  async (mode) => {
    const before = Math.floor(Date.now() / 1000);
    // Long enough for a second change to come within it, also on a busy machine.
    const { here } = await paused(mode, '15s');
    await using _ = here;
    // Never rolled without the pause: they came in one write.
    for (const { object } of here.audit.sightings('Deployment', 'web')) {
      if (marksOf('Deployment', object)[MARK] === sha1(V2)) expect(isPaused(object)).toBe(true);
    }
    const since = web(here)?.metadata.annotations?.[pausedAt] ?? '';
    expect(since).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)$/);
    expect(Date.parse(since) / 1000).toBeGreaterThanOrEqual(before);

    await here.setData('ConfigMap', 'app', V3);
    const gathered = await untilMarked(here.audit, 'Deployment', 'web', V3);
    expect(isPaused(gathered)).toBe(true);
    // Not extended.
    expect(gathered.metadata.annotations?.[pausedAt]).toBe(since);
    expect(replicaSets(here)).toHaveLength(1);

    const resumed = await untilResumed(here);
    expect(marksOf('Deployment', resumed)).toEqual({ [MARK]: sha1(V3) });
    await here.audit.until('the second ReplicaSet', () => replicaSets(here).length === 2);
    await here.fence.pass();
    expect(replicaSets(here)).toHaveLength(2);
  },
);

test.each(MODES)('9. a pause outlives kill -9, and even the annotation that asked for it: %s', async (mode) => {
  const { here, attune } = await paused(mode, '1h');
  await using _ = here;
  await attune.kill9();
  await here.start([mode]);
  await here.fence.pass();
  expect(isPaused(web(here))).toBe(true);
  // Whoever takes the annotation away wants no pause.
  await here.annotate('Deployment', 'web', { [pausePeriod]: null });
  await untilResumed(here);
});

test.each(MODES)('9. a pause that ended while nobody looked ends at the next start: %s', async (mode) => {
  const { here, attune } = await paused(mode, '1h');
  await using _ = here;
  await attune.kill9();
  await here.annotate('Deployment', 'web', { [pausedAt]: '2020-01-01T00:00:00Z' });
  await here.start([mode]);
  await untilResumed(here);
  await here.audit.until('the second ReplicaSet', () => replicaSets(here).length === 2);
});

test("9. who ends Attune's pause may pause by their own hand afterwards", async () => {
  const { here, attune } = await paused(DEFAULT, '5s');
  await using _ = here;
  const setPaused = (value: boolean) =>
    api().patch(pathOf('Deployment', here.space, 'web'), { spec: { paused: value } });
  await setPaused(false);
  await untilResumed(here);
  await setPaused(true);
  await here.fence.pass();
  await attune.stop();
  await here.start([DEFAULT]);
  await here.fence.pass();
  expect(isPaused(web(here))).toBe(true);
});

test.each(MODES)("9. a user's own pause is never touched: %s", async (mode) => {
  await using here = await scene(['ReplicaSet']);
  await here.createSource('ConfigMap', 'app', V1);
  await here.createUser('web', 'app', { ...pauses('1s'), spec: { paused: true } });
  const attune = await here.start([mode]);
  await here.setData('ConfigMap', 'app', V2);
  const marked = await untilMarked(here.audit, 'Deployment', 'web', V2);
  expect(marked.metadata.annotations).not.toHaveProperty([pausedAt]);
  await attune.stop();
  await here.start([mode]);
  await here.fence.pass(4);
  expect(here.audit.sightings('Deployment', 'web').every(({ object }) => isPaused(object))).toBe(true);
});

test.concurrent.each(MODES)(
  '9. what somebody resumed by hand is paused again by the next change, and resumed: %s',
  async (mode) => {
    // So long that it is certainly seen.
    const { here } = await paused(mode, '10s');
    await using _ = here;
    const byHand = { metadata: { annotations: { [pausedAt]: null } }, spec: { paused: false } };
    await api().patch(pathOf('Deployment', here.space, 'web'), byHand);
    await untilResumed(here);
    await here.setData('ConfigMap', 'app', V3);
    await untilPaused(here);
    await untilResumed(here);
  },
);

test.each(MODES)('9. an invalid period: no reload, one Event, and nobody else waits: %s', async (mode) => {
  await using here = await scene(['Event']);
  await here.createSource('ConfigMap', 'app', V1);
  await here.createUser('web', 'app', pauses('5 minutes'));
  await here.createUser('zzz-later', 'app');
  const attune = await here.start([mode]);
  await here.setData('ConfigMap', 'app', V2);
  await untilMarked(here.audit, 'Deployment', 'zzz-later', V2);
  await here.fence.pass();
  expect(here.audit.templates('Deployment', 'web')).toHaveLength(1);
  const eventsOfWeb = () => here.audit.all('Event').filter((event) => event['involvedObject'].name === 'web');
  // Events go out after all writes.
  await here.audit.until('the Event', () => eventsOfWeb().length > 0);
  const events = eventsOfWeb();
  expect(events.map(({ type }) => type)).toEqual(['Warning']);
  expect(events[0]?.['message']).toContain(pausePeriod);
  expect(events[0]?.['message']).toContain('5 minutes');
  await attune.untilLine(/5 minutes/);

  await here.annotate('Deployment', 'web', { [pausePeriod]: null });
  if (mode === DEFAULT) await untilMarked(here.audit, 'Deployment', 'web', V2);
});

test.each(MODES)('9. other kinds cannot be paused, and roll as if nothing had been said: %s', async (mode) => {
  await using here = await scene(['StatefulSet']);
  await here.createSource('ConfigMap', 'app', V1);
  const pod = { containers: [{ name: 'app', image: 'app', envFrom: [{ configMapRef: { name: 'app' } }] }] };
  await here.create('StatefulSet', 'db', { ...pauses('1h'), pod });
  await here.start([mode]);
  await here.setData('ConfigMap', 'app', V2);
  const db = await untilMarked(here.audit, 'StatefulSet', 'db', V2);
  expect(db.metadata.annotations).not.toHaveProperty([pausedAt]);
});
