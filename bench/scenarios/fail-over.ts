import { setTimeout as delay } from 'node:timers/promises';
import type { Program } from '../program.ts';
import { createPairs, latencyFigures, type Scenario, type Stage } from '../scenario.ts';
import type { Put } from '../verdict.ts';

const PAIRS = 20;

/** Two copies with a lease; the one that leads is killed while sources change. */
export const failOver: Scenario = {
  id: 'failover',
  number: 'S20',
  title: '20 pairs, a change every 500 ms, two copies with a lease, the leader is killed',
  long: true,
  async run(stage: Stage): Promise<void> {
    const { arena, contenders, record } = stage;
    for (const contender of contenders) {
      const pairs = await createPairs(arena, 'bench-failover', PAIRS);
      const start = (copy: number) => arena.start(contender, { flags: ['--enable-ha=true'], copy });
      const leader = await start(0);
      if (!leader) continue;
      await arena.firstReaction(leader);
      const standby = (await start(1)) as Program;
      await delay(5000);
      arena.resetRollouts();
      const puts: Put[] = [];
      let killedAt = Number.NaN;
      for (let turn = 0; turn < 80; turn++) {
        const pair = pairs[turn % PAIRS];
        if (pair) puts.push(await arena.put(pair.source, [pair.workload]));
        if (turn === 20) {
          await arena.stop(leader, 'SIGKILL');
          killedAt = puts.at(-1)?.at ?? Number.NaN;
        }
        await delay(500);
      }
      const { missed, surplus, rollouts, latencies } = await arena.settled(puts, 60_000);
      const resumed = [...arena.watcher.rollouts.values()].flat().filter(({ at }) => at > killedAt + 100);
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
      await arena.stop(standby);
      await arena.clear(contenders);
    }
  },
};
