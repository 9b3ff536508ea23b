import { setTimeout as delay } from 'node:timers/promises';
import type { Put } from '../delivery.ts';
import type { Program } from '../program.ts';
import { createPairs, latencyFigures, type Scenario, type ScenarioContext } from '../scenario.ts';

const PAIRS = 20;

/** Two copies with a lease; the one that leads is killed while sources change. */
export const failOver: Scenario = {
  id: 'failover',
  number: 'S20',
  title: '20 pairs, a change every 500 ms, two copies with a lease, the leader is killed',
  long: true,
  async run(context: ScenarioContext): Promise<void> {
    const { cluster, contenders, record } = context;
    for (const contender of contenders) {
      const pairs = await createPairs(cluster, 'bench-failover', PAIRS);
      const start = (copy: number) => cluster.start(contender, { flags: ['--enable-ha=true'], copy });
      const leader = await start(0);
      if (!leader) continue;
      await cluster.firstReaction(leader);
      const standby = (await start(1)) as Program;
      await delay(5000);
      cluster.resetRollouts();
      const puts: Put[] = [];
      let killedAt = Number.NaN;
      for (let turn = 0; turn < 80; turn++) {
        const pair = pairs[turn % PAIRS];
        if (pair) puts.push(await cluster.put(pair.source, [pair.workload]));
        if (turn === 20) {
          await cluster.stop(leader, 'SIGKILL');
          killedAt = puts.at(-1)?.at ?? Number.NaN;
        }
        await delay(500);
      }
      const { missed, surplus, rollouts, latencies } = await cluster.settled(puts, 60_000);
      const resumed = [...cluster.watcher.rollouts.values()].flat().filter(({ at }) => at > killedAt + 100);
      record({
        scenario: 'failover',
        contender: contender.name,
        latencies,
        figures: {
          changes: puts.length,
          rollouts,
          missed,
          surplus,
          'kill to next rollout ms': Math.min(...resumed.map(({ at }) => at)) - killedAt,
          ...latencyFigures(latencies),
        },
      });
      await cluster.stop(standby);
      await cluster.clear(contenders);
    }
  },
};
