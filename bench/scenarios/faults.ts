import { setTimeout as delay } from 'node:timers/promises';
import type { Put } from '../delivery.ts';
import { startFaultProxy } from '../fault-proxy.ts';
import { createPairs, latencyFigures, type Scenario, type ScenarioContext, withContender } from '../scenario.ts';

const PAIRS = 20;
const SHARE = 0.2;

/** One write in five is refused; nothing may be lost, and nothing done twice. */
export const faults: Scenario = {
  id: 'faults',
  number: 'S19',
  long: true,
  title: '20 pairs, a change every 200 ms, 20 % of all writes refused with 409, 429 or 500',
  async run(context: ScenarioContext): Promise<void> {
    const { cluster, contenders, quick, record } = context;
    for (const contender of contenders) {
      const pairs = await createPairs(cluster, 'bench-faults', PAIRS);
      const access = await cluster.accessOf(contender.name, contender.rights);
      const proxy = await startFaultProxy(access, cluster.certificates, SHARE);
      await withContender(context, contender, { server: proxy.server }, async () => {
        const puts: Put[] = [];
        for (let turn = 0; turn < (quick ? PAIRS : 100); turn++) {
          const pair = pairs[turn % PAIRS];
          if (pair) puts.push(await cluster.put(pair.source, [pair.workload]));
          await delay(200);
        }
        const { missed, surplus, rollouts, latencies } = await cluster.settled(puts, 60_000);
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
      await cluster.clear(contenders);
    }
  },
};
