import { setTimeout as delay } from 'node:timers/promises';
import type { Contender } from '../contender.ts';
import { createPairs, latencyFigures, type Scenario, type Stage } from '../scenario.ts';
import type { Put } from '../verdict.ts';

const PAIRS = 20;
const CHANGED = 10;

/** Killed, and what changed meanwhile has to be carried out by the next process: once, and nothing else with it. */
export const downtime: Scenario = {
  id: 'downtime',
  number: 'S18',
  title: '20 pairs; the controller is killed for 30 s, in which 10 ConfigMaps change',
  async run(stage: Stage): Promise<void> {
    for (const contender of stage.contenders) {
      await absence(stage, contender);
      await stage.arena.clear(stage.contenders);
    }
  },
};

async function absence(stage: Stage, contender: Contender): Promise<void> {
  const { arena, quick, record, say } = stage;
  const pairs = await createPairs(arena, 'bench-downtime', PAIRS);
  const before = await arena.start(contender);
  if (!before) return;
  await arena.firstReaction(before);
  await arena.stop(before, 'SIGKILL');
  arena.resetRollouts();
  const puts: Put[] = [];
  for (const { source, workload } of pairs.slice(0, CHANGED)) {
    puts.push(await arena.put(source, [workload]));
    await delay(quick ? 100 : 3000);
  }
  const after = await arena.start(contender);
  if (!after) return;
  const { missed, surplus, rollouts, latencies } = await arena.settled(puts, quick ? 15_000 : 60_000);
  if (missed > 0) say(`${contender.name} did not catch up`);
  const caughtUp = Math.max(...[...arena.watcher.rollouts.values()].flat().map(({ at }) => at));
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
  await arena.stop(after);
}
