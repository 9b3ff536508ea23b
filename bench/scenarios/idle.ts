import { setTimeout as delay } from 'node:timers/promises';
import {
  costFigures,
  createPairs,
  latencyFigures,
  memoryFigures,
  type Scenario,
  type ScenarioContext,
  withContender,
} from '../scenario.ts';
import { changeOneByOne } from './latency.ts';

/** What workloads cost that nothing happens to: memory, start, and what they add to a change of another one. */
export const idle: Scenario = {
  id: 'idle-5000',
  title: '500, 1500, 5000 pairs of which only 50 ever change',
  long: true,
  async run(context: ScenarioContext): Promise<void> {
    const { cluster, contenders, quick, record } = context;
    const seconds = quick ? 10 : 60;
    for (const size of [500, 1500, 5000]) {
      const pairs = await createPairs(cluster, 'bench-idle', size);
      for (const contender of contenders) {
        await withContender(context, contender, {}, async (program, firstReactionMs) => {
          await delay(5000);
          const rest = memoryFigures(program);
          const resting = await cluster.measure(contender.name, program, () => delay(seconds * 1000));
          let latencies: number[] = [];
          const measured = await cluster.measure(contender.name, program, async () => {
            latencies = await changeOneByOne(cluster, pairs.slice(0, 50), 100);
          });
          record({
            scenario: 'idle-5000',
            contender: contender.name,
            size,
            latencies,
            calls: resting.calls,
            figures: {
              ...rest,
              'first reaction ms': firstReactionMs,
              'idle CPU ms per s': resting.cpuMs / seconds,
              ...latencyFigures(latencies),
              ...costFigures(measured, latencies.length),
            },
          });
        });
      }
    }
  },
};
