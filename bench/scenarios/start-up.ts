import { createPairs, memoryFigures, type Scenario, type ScenarioContext } from '../scenario.ts';
import { median } from '../statistics.ts';

const CANARY = 'Deployment/bench-canary/canary';

/** The first start beside workloads that run already, and the following ones. */
export const startUp: Scenario = {
  id: 'startup',
  title: 'start beside 20 running workloads',
  async run(context: ScenarioContext): Promise<void> {
    const { cluster, contenders, quick, record } = context;
    for (const contender of contenders) {
      await createPairs(cluster, 'bench-start-up', 20);
      const starts: number[] = [];
      let figures = {};
      let surplus = 0;
      for (let left = quick ? 3 : 7; left > 0; left--) {
        cluster.resetRollouts();
        const before = countOthers(cluster.watcher.rollouts);
        const program = await cluster.start(contender);
        if (!program) return;
        starts.push(await cluster.firstReaction(program));
        surplus += countOthers(cluster.watcher.rollouts) - before;
        figures = memoryFigures(program);
        await cluster.stop(program);
      }
      record({
        scenario: 'startup',
        contender: contender.name,
        figures: {
          'first reaction ms': median(starts),
          'first start ms': starts[0] ?? Number.NaN,
          surplus,
          ...figures,
        },
      });
      await cluster.clear(contenders);
    }
  },
};

function countOthers(rollouts: ReadonlyMap<string, readonly unknown[]>): number {
  let count = 0;
  for (const [key, list] of rollouts) if (key !== CANARY) count += list.length;
  return count;
}
