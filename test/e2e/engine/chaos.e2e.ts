import { randomInt } from 'node:crypto';
import { env } from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { KindName } from '../../../src/api/kinds.ts';
import { Audit } from '../../support/audit.ts';
import { type Controller, startController } from '../../support/controller.ts';
import { installKinds } from '../../support/crds.ts';
import { faultProxy } from '../../support/proxy.ts';
import { api, controlPlane, namespace } from '../../support/sandbox.ts';
import { rounds } from '../../support/soak.ts';
import { dataOf, pathOf, type SourceName, sourceObject, workload } from '../../support/workloads.ts';
import { revisionsOf, type Use, verdictOn } from './auditor.ts';

const { ATTUNE_CHAOS_SEED } = env;
const KINDS: readonly KindName[] = ['Deployment', 'StatefulSet', 'DaemonSet', 'CronJob', 'Rollout', 'DeploymentConfig'];
const WORKLOADS = rounds(12, 50);
const CHANGES = rounds(60, 300);
const KILLS = rounds(6, 30);
const LEADER_CHANGES = rounds(2, 5);

/** The same numbers from the same seed. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test.each(['env-vars', 'annotations'] as const)(
  'with %s nothing is missed and nothing is rolled twice, whatever dies',
  { timeout: rounds(240_000, 1_800_000) },
  async (strategy) => {
    const seed = Number(ATTUNE_CHAOS_SEED ?? randomInt(2 ** 31));
    const random = randomFrom(seed);
    await installKinds(['Rollout']);
    await installKinds(['DeploymentConfig']);
    const [home, shop] = await Promise.all([namespace('chaos-home'), namespace('chaos-shop')]);
    const uses = await populate(shop);
    const audit = await Audit.of(shop, ['ConfigMap', 'Secret', 'Job', ...KINDS]);
    const proxy = await faultProxy({ seed });
    const start = (pod: string): Promise<Controller> =>
      startController({
        home,
        access: proxy.access,
        flags: ['--enable-ha', '--is-Argo-Rollouts=true', `--namespaces=${shop}`, `--reload-strategy=${strategy}`],
        env: { POD_NAME: pod },
      });
    const replicas = [await start('a'), await start('b')];
    proxy.setRules([
      { fault: { type: 'status', code: 500 }, rate: 0.05 },
      { fault: { type: 'status', code: 429, retryAfterSeconds: 0 }, rate: 0.02 },
      { fault: { type: 'cut' }, verbs: ['watch'], rate: 0.1 },
      { fault: { type: 'cut' }, verbs: ['patch', 'create', 'update'], rate: 0.03 },
    ]);

    const replace = async (at: number, graceful: boolean): Promise<void> => {
      const old = replicas[at];
      if (graceful) await old?.stop();
      else await old?.kill9();
      const next = await start(at === 0 ? 'a' : 'b');
      replicas[at] = next;
    };
    const troubles = [...Array(KILLS).fill('kill'), ...Array(LEADER_CHANGES).fill('lead')];
    const every = Math.floor(CHANGES / troubles.length);
    const sources = [...new Map(uses.flatMap(({ sources: used }) => used).map((each) => [each.name, each])).values()];
    let trouble = Promise.resolve();
    for (let n = 0; n < CHANGES; n += 1) {
      const source = sources[random(sources.length)] as SourceName;
      const value = dataOf(source.kind, { value: `${seed}-${n}` })['data'];
      await api().patch(pathOf(source.kind, shop, source.name), [{ op: 'add', path: '/data', value }], 'json');
      if (n % every === 0) {
        const what = troubles.splice(random(troubles.length), 1)[0];
        const at = random(2);
        trouble = trouble.then(() => replace(at, what === 'lead'));
      }
      if (n % 10 === 5) proxy.cutWatches();
      await delay(random(300));
    }
    await trouble;
    proxy.setRules([]);

    const judge = () => uses.map((use) => verdictOn(use, revisionsOf(audit, use.kind, use.name), audit));
    await audit.until(
      'every workload runs with current data',
      () => judge().every(({ missed }) => missed === 0),
      60_000,
    );
    const wrong = judge().filter(({ missed, surplus }) => missed > 0 || surplus.length > 0);
    expect({ seed, wrong }).toEqual({ seed, wrong: [] });
    await Promise.all(replicas.map((replica) => replica.stop()));
    await audit[Symbol.asyncDispose]();
  },
);

/** Workloads of all kinds in turn, two for each source, and some that use two sources. */
async function populate(shop: string): Promise<Use[]> {
  const uses: Use[] = [];
  const pairs = Math.ceil(WORKLOADS / 2);
  const name = (n: number): SourceName => ({ kind: n % 3 === 0 ? 'Secret' : 'ConfigMap', name: `source-${n}` });
  for (let n = 0; n < pairs; n += 1) {
    await api().create(pathOf(name(n).kind, shop), sourceObject(name(n).kind, name(n).name, { value: 'first' }));
  }
  for (let n = 0; n < WORKLOADS; n += 1) {
    const kind = KINDS[n % KINDS.length] as KindName;
    const sources = [name(n % pairs), ...(n % 4 === 0 ? [name((n + 1) % pairs)] : [])];
    const envFrom = sources.map((each) =>
      each.kind === 'Secret' ? { secretRef: { name: each.name } } : { configMapRef: { name: each.name } },
    );
    const pod = { containers: [{ name: 'app', image: 'app', envFrom }] };
    const annotations = { 'reloader.stakater.com/auto': 'true' };
    await api().create(pathOf(kind, shop), workload(kind, `workload-${n}`, { annotations, pod }));
    uses.push({ kind, name: `workload-${n}`, sources });
  }
  return uses;
}

test('the seed alone decides', () => {
  const [one, two] = [randomFrom(7), randomFrom(7)];
  expect(Array.from({ length: 20 }, () => one(100))).toEqual(Array.from({ length: 20 }, () => two(100)));
  expect(controlPlane().server).toMatch(/^https:/);
});
