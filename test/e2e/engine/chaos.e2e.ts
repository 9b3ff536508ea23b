import { randomInt } from 'node:crypto';
import { env, stdout } from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { KindName } from '../../../src/api/kinds.ts';
import { type Action, ALL, historyFrom, randomFrom } from '../../model/history.ts';
import { Audit } from '../../support/audit.ts';
import { type Controller, startController } from '../../support/controller.ts';
import { installKinds } from '../../support/crds.ts';
import { type FaultRule, faultProxy } from '../../support/proxy.ts';
import { api, namespace } from '../../support/sandbox.ts';
import { rounds } from '../../support/soak.ts';
import { until } from '../../support/wait.ts';
import { needlessIn, outdatedIn } from './auditor.ts';
import { ChaosStage } from './chaos-stage.ts';

const { ATTUNE_CHAOS_SEED } = env;
const KINDS: readonly KindName[] = ['Deployment', 'StatefulSet', 'DaemonSet', 'CronJob', 'Rollout', 'DeploymentConfig'];
const WORKLOADS = rounds(12, 30);
const STEPS = rounds(70, 1700);
// Long enough for a rollout, too short for everything to come to rest.
const LONGEST_WAIT_MS = 1500;
// A watch that got no answer is given up after 30 s, who failed often waits a minute, and then pods are replaced.
const REST_MS = 150_000;
/** Bad weather: what goes wrong all the time. */
const WEATHER: readonly FaultRule[] = [
  { fault: { type: 'status', code: 500 }, rate: 0.05 },
  { fault: { type: 'status', code: 429, retryAfterSeconds: 0 }, rate: 0.02 },
  { fault: { type: 'cut' }, verbs: ['watch'], rate: 0.1 },
  { fault: { type: 'cut' }, verbs: ['patch', 'create', 'update'], rate: 0.03 },
  { fault: { type: 'status', code: 409 }, verbs: ['patch', 'update'], rate: 0.02 },
  { fault: { type: 'bad-json' }, verbs: ['get', 'list', 'watch'], rate: 0.02 },
  { fault: { type: 'delay', ms: 700 }, rate: 0.05 },
  { fault: { type: 'silence' }, verbs: ['patch', 'watch'], rate: 0.01 },
];
/** Nobody gets through. */
const NIGHTS: readonly (readonly FaultRule[])[] = [
  [{ fault: { type: 'expired-watch' }, verbs: ['watch'] }, { fault: { type: 'status', code: 503 } }],
  // Frozen: whoever asks waits until it goes on.
  [{ fault: { type: 'silence' } }],
];

test.each([
  ['env-vars', 'alone'],
  ['annotations', 'alone'],
  ['env-vars', 'of two replicas'],
  ['annotations', 'of two replicas'],
] as const)(
  'with %s, %s, no pod is left with old data, whatever dies',
  { timeout: rounds(300_000, 1_800_000) },
  async (strategy, company) => {
    const seed = Number(ATTUNE_CHAOS_SEED ?? randomInt(2 ** 31));
    const random = randomFrom(seed);
    await installKinds(['Rollout', 'DeploymentConfig']);
    const [home, shop] = await Promise.all([namespace('chaos-home'), namespace('chaos-shop')]);
    const stage = new ChaosStage(shop, WORKLOADS);
    await stage.build();
    await using audit = await Audit.of(shop, ['ConfigMap', 'Secret', 'Job', 'ReplicaSet', 'Pod', ...KINDS]);
    const proxy = await faultProxy({ seed });
    const pods = company === 'alone' ? ['a'] : ['a', 'b'];
    const ha = company === 'alone' ? [] : ['--enable-ha'];
    const flags = [...ha, '--is-Argo-Rollouts=true', `--namespaces=${shop}`, `--reload-strategy=${strategy}`];
    const lines: string[] = [];
    const start = async (pod: string): Promise<Controller> => {
      // Whoever is started while nobody gets through becomes ready later.
      const options = { home, access: proxy.access, flags, env: { POD_NAME: pod }, untilReady: false };
      return await startController(options);
    };
    const replicas = await Promise.all(pods.map(start));
    onTestFinished(async () => {
      for (const replica of replicas) await replica[Symbol.asyncDispose]();
    });
    for (const replica of replicas) await replica.untilLine(/Attune is ready/);
    // Of several, one that is ready may not lead yet: nothing was kept before somebody does.
    await until(() => api().find(`/api/v1/namespaces/${home}/configmaps/attune-ledger-0`), { what: 'the ledger' });
    proxy.setRules(WEATHER);

    let down = 0;
    const trouble = async (action: Action): Promise<void> => {
      if (action.do === 'down') {
        down = random(pods.length);
        await replicas[down]?.kill9();
        lines.push(...(replicas[down]?.lines ?? []));
      }
      if (action.do === 'up') replicas[down] = await start(pods[down] ?? 'a');
      if (action.do === 'blind') {
        proxy.setRules(NIGHTS[random(NIGHTS.length)] ?? []);
        proxy.cutWatches();
      }
      if (action.do === 'sight') proxy.setRules(WEATHER);
      if (action.do === 'wait') await delay(Math.min(action.ms, LONGEST_WAIT_MS));
    };
    const size = {
      steps: STEPS,
      sources: stage.sourceCount,
      workloads: WORKLOADS,
      weights: { ...ALL, data: 20, image: 6 },
    };
    for (const action of historyFrom(random, size)) {
      await stage.play(action, audit);
      await trouble(action);
    }
    proxy.setRules([]);
    await stage.resume();

    // A writer who takes marks away again and again is told so, and not fought for ever.
    const isTold = (what: string): boolean =>
      [...lines, ...replicas.flatMap((replica) => replica.lines)].some((line) => {
        const [workload = ''] = what.split(' ');
        return line.includes('not applying it again') && line.includes(`/${workload.split('/')[1]}:`);
      });
    const lost = () => stage.uses.flatMap((use) => outdatedIn(audit, use)).filter((what) => !isTold(what));
    const rest = audit.until('every pod has the data that there is', () => lost().length === 0, REST_MS);
    await rest.catch(() => {});
    expect({ seed, lost: lost() }).toEqual({ seed, lost: [] });
    const needless = stage.uses.flatMap((use) => needlessIn(audit, use)).length;
    const rolled = stage.uses.flatMap(({ kind, name }) => audit.templates(kind, name).slice(1)).length;
    stdout.write(
      `chaos ${strategy} ${company}, seed ${seed}: ${STEPS} steps, ${rolled} templates, ${needless} needless\n`,
    );
  },
);
