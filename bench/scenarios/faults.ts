import { setTimeout as delay } from 'node:timers/promises';
import { startFaultProxy } from '../fault-proxy.ts';
import { createPairs, latencyFigures, type Scenario, type Stage, withContender } from '../scenario.ts';
import type { Put } from '../verdict.ts';

const PAIRS = 20;
const SHARE = 0.2;

/** One write in five is refused; nothing may be lost, and nothing done twice. */
export const faults: Scenario = {
  id: 'faults',
  number: 'S19',
  long: true,
  title: '20 pairs, a change every 200 ms, 20 % of all writes refused with 409, 429 or 500',
  async run(stage: Stage): Promise<void> {
    const { arena, contenders, quick, record } = stage;
    for (const contender of contenders) {
      const pairs = await createPairs(arena, 'bench-faults', PAIRS);
      const access = await arena.accessOf(contender.name, contender.rights);
      const proxy = await startFaultProxy(access, arena.certificates, SHARE);
      await withContender(stage, contender, { server: proxy.server }, async () => {
        const puts: Put[] = [];
        for (let turn = 0; turn < (quick ? PAIRS : 100); turn++) {
          const pair = pairs[turn % PAIRS];
          if (pair) puts.push(await arena.put(pair.source, [pair.workload]));
          await delay(200);
        }
        const { missed, surplus, rollouts, latencies } = await arena.settled(puts, 60_000);
        record({
          scenario: 'faults',
          contender: contender.name,
          latencies,
          figures: {
            changes: puts.length,
            rollouts,
            missed,
            surplus,
            faults: proxy.faults(),
            ...latencyFigures(latencies),
          },
        });
      });
      proxy.close();
      await arena.clear(contenders);
    }
  },
};
