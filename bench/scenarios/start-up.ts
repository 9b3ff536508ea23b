import { createPairs, memoryFigures, type Scenario, type Stage } from '../scenario.ts';
import { median } from '../statistics.ts';

const CANARY = 'Deployment/bench-canary/canary';

/** The first start beside workloads that run already, and the following ones. */
export const startUp: Scenario = {
  id: 'startup',
  title: 'start beside 20 running workloads',
  async run(stage: Stage): Promise<void> {
    const { arena, contenders, quick, record } = stage;
    for (const contender of contenders) {
      await createPairs(arena, 'bench-start-up', 20);
      const starts: number[] = [];
      let figures = {};
      let surplus = 0;
      for (let left = quick ? 3 : 7; left > 0; left--) {
        arena.resetRollouts();
        const before = countOthers(arena.watcher.rollouts);
        const program = await arena.start(contender);
        if (!program) return;
        starts.push(await arena.firstReaction(program));
        surplus += countOthers(arena.watcher.rollouts) - before;
        figures = memoryFigures(program);
        await arena.stop(program);
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
      await arena.clear(contenders);
    }
  },
};

function countOthers(rollouts: ReadonlyMap<string, readonly unknown[]>): number {
  let count = 0;
  for (const [key, list] of rollouts) if (key !== CANARY) count += list.length;
  return count;
}
