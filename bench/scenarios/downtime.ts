import { setTimeout as delay } from 'node:timers/promises';
import type { Contender } from '../contender.ts';
import type { Put } from '../delivery.ts';
import { createPairs, latencyFigures, type Scenario, type ScenarioContext } from '../scenario.ts';

const PAIRS = 20;
const CHANGED = 10;

/** The process after a kill must deliver what changed meanwhile: once, and nothing else. */
export const downtime: Scenario = {
  id: 'downtime',
  number: 'S18',
  title: '20 pairs; the controller is killed for 30 s, in which 10 ConfigMaps change',
  async run(context: ScenarioContext): Promise<void> {
    for (const contender of context.contenders) {
      await runDowntime(context, contender);
      await context.cluster.clear(context.contenders);
    }
  },
};

async function runDowntime(context: ScenarioContext, contender: Contender): Promise<void> {
  const { cluster, quick, record, say } = context;
  const pairs = await createPairs(cluster, 'bench-downtime', PAIRS);
  const before = await cluster.start(contender);
  if (!before) return;
  await cluster.firstReaction(before);
  await cluster.stop(before, 'SIGKILL');
  cluster.resetRollouts();
  const puts: Put[] = [];
  for (const { source, workload } of pairs.slice(0, CHANGED)) {
    puts.push(await cluster.put(source, [workload]));
    await delay(quick ? 100 : 3000);
  }
  const after = await cluster.start(contender);
  if (!after) return;
  const { missed, surplus, rollouts, latencies } = await cluster.settled(puts, quick ? 15_000 : 60_000);
  if (missed > 0) say(`${contender.name} did not catch up`);
  const caughtUp = Math.max(...[...cluster.watcher.rollouts.values()].flat().map(({ at }) => at));
  record({
    scenario: 'downtime',
    contender: contender.name,
    latencies,
    figures: {
      rollouts,
      missed,
      surplus,
      'start to caught up ms': missed === 0 ? caughtUp - after.startedAt : Number.NaN,
      ...latencyFigures(latencies),
    },
  });
  await cluster.stop(after);
}
