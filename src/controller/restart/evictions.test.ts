import { expect, test } from 'vitest';
import { running as engineWorld, source, WEB } from '../../../test/support/engine-world.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { type Exchange, listOf } from '../../../test/support/scripted-api.ts';
import { startClient } from '../../../test/support/scripted-client.ts';
import { change } from '../../../test/support/telling-world.ts';
import type { Restart } from '../../domain/ledger/restart.ts';
import type { EvictPlan } from '../../domain/plan/plan.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { systemClock } from '../../runtime/clock.ts';
import { Evictions, type EvictionsDeps } from './evictions.ts';

interface FakePod {
  readonly name: string;
  readonly maker?: string;
  isReady?: boolean;
  isGoing?: boolean;
}

const podObject = ({ name, maker = 'rs', isReady = true, isGoing = false }: FakePod, version: number) => ({
  metadata: {
    ...{ name, namespace: 'shop', uid: `uid-${name}`, resourceVersion: String(version) },
    ...(isGoing && { deletionTimestamp: '2026-01-01T10:00:00Z' }),
    ownerReferences: [{ controller: true, uid: maker }],
  },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
});

const replicaSet = (uid: string, owner: string) => ({
  metadata: {
    ...{ name: uid, namespace: 'shop', uid, resourceVersion: '1' },
    ownerReferences: [{ controller: true, uid: owner }],
  },
});

/** Deployment web with its pods, on a server that leaves it to the test how evictions are answered. */
async function restarting(pods: FakePod[], parts: Partial<EvictionsDeps> = {}) {
  const said: string[] = [];
  const world = engineWorld();
  let version = 100;
  let watch: Exchange | undefined;
  let before: (request: string) => void = () => {};
  let answer = (exchange: Exchange): void => exchange.json(201, {});
  const deployment = () => ({
    metadata: { name: 'web', namespace: 'shop', uid: 'w', resourceVersion: '3', generation: 1 },
    spec: { replicas: 2, selector: { matchLabels: { app: 'web' } } },
    status: { observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: 2 },
  });
  const { client } = await startClient((exchange) => {
    const { verb, path } = exchange;
    const last = path.split('/').at(-1) ?? '';
    if (verb === 'watch') {
      watch = exchange;
      return void exchange.write('');
    }
    if (verb !== 'create') said.push(`${verb} ${last}`);
    before(`${verb} ${last}`);
    if (verb === 'get') return exchange.json(200, deployment());
    if (last === 'replicasets')
      return exchange.json(200, listOf([replicaSet('rs', 'w'), replicaSet('alien', 'x')], '1'));
    version += 1;
    if (verb === 'list') {
      const items = pods.map((pod) => podObject(pod, version));
      return exchange.json(200, listOf(items, String(version)));
    }
    said.push(`evict ${path.split('/').at(-2)} ${JSON.parse(exchange.body).deleteOptions.preconditions.uid}`);
    answer(exchange);
  });
  const deps: EvictionsDeps = {
    ...{ client, clock: systemClock, engine: world.engine, sources: world.sources },
    queue: { add: () => {}, schedule: () => void said.push('again') },
    checkpoint: { keep: async () => void said.push('kept'), touch: () => {} },
    mayStore: () => true,
    mayWrite: () => true,
    ...parts,
  };
  const evictions = new Evictions(deps);
  world.put(source('B', 10));
  const plan = (since = 10, current = 'B'): EvictPlan => ({
    ...{ do: 'evict', now: client.serverNow() },
    changes: [{ ...change('app'), current, since }],
  });
  return {
    ...{ said, pods, evictions, plan, state: world.state(), see: world.put },
    step: (next = plan()) => evictions.step(world.state(), next),
    answers(next: (exchange: Exchange) => void) {
      answer = next;
    },
    /** Whether the pods are watched. */
    isWatched: () => watch?.closed === false,
    gone: () => world.engine.workloadGone(WEB),
    /** The server answers a request when this has returned. */
    meanwhile(next: (request: string) => void) {
      before = next;
    },
    /** Those that were said since the last call. */
    news: () => said.splice(0),
  };
}

const READY: readonly FakePod[] = [{ name: 'web-1' }, { name: 'web-2' }];
const kept = (parts: Partial<Restart>): Restart => ({
  ...{ at: 0, version: 1, pods: 2, uids: ['uid-web-1', 'uid-web-2'], changes: { 'ConfigMap/app': ['B', 10] } },
  ...parts,
});

test('what is to go is written down first, and is what the workload has made', async () => {
  const world = await restarting([...READY, { name: 'web-3', maker: 'alien' }]);
  expect(await world.step()).toBe('not-yet');
  expect(world.news()).toEqual([
    ...['get web', 'list pods', 'list replicasets', 'kept', 'evict web-2 uid-web-2', 'again'],
  ]);
  expect(world.state.reloads.restart?.uids).toEqual(['uid-web-1', 'uid-web-2']);
  // The watch has not told yet that it goes: no other does.
  await world.step();
  expect(world.news()).toEqual(['get web', 'again']);
  expect(world.evictions.progress(WEB)).toEqual({ pods: 2, left: 2, message: '1 of 2 pods are available' });
  world.evictions.stop();
});

test.each([
  [
    'it cannot be written',
    { checkpoint: refusing(403) },
    'cannot be written',
    ['get web', 'list pods', 'list replicasets'],
  ],
  ['nothing may be stored about it', { mayStore: () => false }, 'nothing about Secrets', ['get web']],
] as const)('no eviction where %s', async (_, parts, words, asked) => {
  const world = await restarting([...READY], parts);
  await expect(world.step()).rejects.toThrow(words);
  expect(world.said).toEqual(asked);
  // The next try does not take it for written.
  expect(world.state.reloads.restart).toBeUndefined();
  expect(world.state.reloads.at).toBeUndefined();
  world.evictions.stop();
  // No pod has gone: what they run with is still known, and to go back to it is no change.
  world.see(source('A', 12));
  expect([...world.state.waiting]).toEqual([]);
});

function refusing(status: number): EvictionsDeps['checkpoint'] {
  const error = new KubeError({ verb: 'update', path: 'configmaps', status, reason: 'Forbidden' });
  return { keep: () => Promise.reject(error), touch: () => {} };
}

test('what was kept is gone on with: nothing is counted anew', async () => {
  const world = await restarting([{ name: 'new' }, { name: 'web-1' }]);
  world.state.restarting(kept({}));
  await eventually(() => world.step().then(() => world.news())).toContain('evict web-1 uid-web-1');
  expect(world.said).not.toContain('kept');
  world.evictions.stop();
});

test('what nobody asks for any more while the server is asked evicts nothing', async () => {
  const world = await restarting([...READY], {
    checkpoint: { keep: async () => world.state.forget('ConfigMap/app'), touch: () => {} },
  });
  expect(await world.step()).toBe('not-yet');
  expect(world.said.filter((line) => line.startsWith('evict'))).toEqual([]);
  world.evictions.stop();
});

test('what is asked for in another way since it was planned evicts nothing', async () => {
  const world = await restarting([...READY]);
  const { changes, ...rest } = world.plan();
  const byRestart = changes.map(({ verdict, ...each }) => {
    const ask = { ...verdict.ask, overrides: { rolloutStrategy: 'restart' as const } };
    return { ...each, verdict: { ...verdict, ask } };
  });
  expect(await world.step({ ...rest, changes: byRestart })).toBe('not-yet');
  expect(world.said.filter((line) => line.startsWith('evict'))).toEqual([]);
  world.evictions.stop();
});

test('settled when none is left, and all pods are newer than the count', async () => {
  const world = await restarting([{ name: 'new' }, { name: 'newer' }]);
  world.state.restarting(kept({ version: 77 }));
  await eventually(() => world.step()).toEqual({ job: undefined, seq: 1, isRecorded: false, evicted: 2 });
  expect(world.state.templateTime).toEqual({ after: 77, upTo: 77 });
  expect(world.evictions.progress(WEB)).toBeUndefined();
});

test('a change meanwhile adds all that run now', async () => {
  const world = await restarting([{ name: 'new' }, { name: 'web-1' }, { name: 'web-2', isGoing: true }]);
  world.state.restarting(kept({ evictedAt: 5 }));
  await world.step(world.plan(11));
  expect(world.state.reloads.restart).toMatchObject({
    pods: 3,
    uids: ['uid-web-1', 'uid-web-2', 'uid-new'],
    changes: { 'ConfigMap/app': ['B', 11] },
  });
  world.evictions.stop();
});

test('a budget without any to spare is waited for', async () => {
  const world = await restarting([...READY]);
  world.answers((exchange) => exchange.status(429, 'TooManyRequests', 'it would violate the budget'));
  expect(await world.step()).toBe('not-yet');
  expect(world.news().at(-1)).toBe('again');
  expect(world.evictions.progress(WEB)?.message).toBe('pod web-2 waits: it would violate the budget');
  world.answers((exchange) => exchange.json(201, {}));
  await world.step();
  expect(world.news()).toEqual(['get web', 'evict web-2 uid-web-2', 'again']);
  world.evictions.stop();
});

test.each([
  [403, 'Forbidden', 'may not', 'attune.reloaderConfig.restart=true'],
  [500, 'InternalError', 'This pod has more than one PodDisruptionBudget', 'Leave one'],
] as const)('a refusal for good: %i', async (status, reason, message, words) => {
  const world = await restarting([...READY]);
  world.answers((exchange) => exchange.status(status, reason, message));
  await expect(world.step()).rejects.toMatchObject({ status: 412, message: expect.stringContaining(words) });
  expect(world.evictions.progress(WEB)?.message).toContain(message);
  world.evictions.stop();
});

test('an answer that is lost leaves open which pods there are: they are listed before another goes', async () => {
  const world = await restarting([...READY]);
  world.answers((exchange) => {
    const [, second] = world.pods;
    if (second) second.isGoing = true;
    exchange.cut();
  });
  await expect(world.step()).rejects.toMatchObject({ status: 0 });
  world.news();
  expect(await world.step()).toBe('not-yet');
  expect(world.news()).toEqual(['get web', 'list pods', 'again']);
  world.evictions.stop();
});

test.each([
  ['get web', ['get web']],
  ['list pods', ['get web', 'list pods']],
  ['list replicasets', ['get web', 'list pods', 'list replicasets']],
])('a step that waits for an answer when the term ends does nothing afterwards: %s', async (request, asked) => {
  const world = await restarting([...READY]);
  // We may lead again by then, and another leader may have replaced the pods meanwhile.
  world.meanwhile((each) => each === request && world.evictions.stop());
  expect(await world.step()).toBe('not-yet');
  expect(world.said).toEqual(asked);
  expect(world.state.reloads.restart).toBeUndefined();
  world.evictions.stop();
});

test('no recovery in time: none goes, and that is told', async () => {
  const world = await restarting([{ name: 'web-1' }, { name: 'new', isReady: false }]);
  world.state.restarting(kept({ at: 100, evictedAt: 200 }));
  await eventually(() => world.step().catch((error: Error) => error.message)).toContain(
    'it did not become available again within 600 s (1 of 2 pods are available): 1 of 2 pods are left',
  );
  expect(world.said.filter((line) => line.startsWith('evict'))).toEqual([]);
  world.evictions.stop();
});

test('the last pod does not end, and none takes its place: that is told, too', async () => {
  const world = await restarting([{ name: 'web-1', isGoing: true }, { name: 'new' }]);
  world.state.restarting(kept({ at: 100, evictedAt: 200 }));
  await eventually(() => world.step().catch((error: Error) => error.message)).toContain(
    'within 600 s (1 of 2 pods are available, and 1 that were evicted have not ended yet): 1 of 2 pods are left',
  );
  world.evictions.stop();
});

test('what nobody asks for any more is forgotten; what has to be read first is not', async () => {
  const world = await restarting([...READY]);
  world.state.restarting(kept({}));
  world.evictions.rest(world.state);
  expect(world.state.reloads.restart).toBeDefined();
  world.see({ ...source('B', 12), fingerprint: undefined });
  world.evictions.drop(world.state);
  expect(world.state.reloads.restart).toBeDefined();
  world.see(source('B', 12));
  world.evictions.drop(world.state);
  expect(world.state.reloads.restart).toBeUndefined();
});

test('a workload that is gone: its pods may stay, but are watched no longer', async () => {
  const added: string[] = [];
  const world = await restarting([...READY], { queue: { add: (key) => void added.push(key), schedule: () => {} } });
  await world.step();
  // The listing was told, and from now on the pods have nothing to tell.
  await eventually(() => added).toEqual([WEB]);
  // Which is told before the server has heard of the watch.
  await eventually(() => world.isWatched()).toBe(true);
  world.gone();
  await eventually(() => world.isWatched()).toBe(false);
  expect(world.evictions.progress(WEB)).toBeUndefined();
});
