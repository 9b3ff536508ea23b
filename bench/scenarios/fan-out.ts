import type { Arena } from '../arena.ts';
import type { Contender } from '../contender.ts';
import { createAll, type SourceName, sourceManifest, workload } from '../objects.ts';
import type { Program } from '../program.ts';
import { costFigures, memoryFigures, type Scenario, type Stage, withContender } from '../scenario.ts';
import { median } from '../statistics.ts';
import { workloadKey } from '../watcher.ts';

interface Fan {
  readonly namespace: string;
  readonly source: SourceName;
  readonly workloads: readonly string[];
}

async function createFan(arena: Arena, count: number): Promise<Fan> {
  const namespace = await arena.namespace(`bench-fan-out-${count}`);
  const source: SourceName = { kind: 'ConfigMap', namespace, name: 'shared' };
  const names = Array.from({ length: count }, (_, index) => `app-${index}`);
  await createAll(arena.api, [sourceManifest(source, arena.freshData())]);
  await createAll(
    arena.api,
    names.map((name) => workload('Deployment', namespace, name, { uses: [source] })),
  );
  return { namespace, source, workloads: names.map((name) => workloadKey('Deployment', namespace, name)) };
}

interface Spread {
  /** From the accepted change to the last template, or to the deadline. */
  readonly ms: number;
  readonly done: number;
}

async function spread(arena: Arena, fan: Fan, deadlineMs: number): Promise<Spread> {
  arena.resetRollouts();
  const change = await arena.put(fan.source, fan.workloads);
  const complete = await arena.carriedOut(change, deadlineMs);
  const arrived = fan.workloads.flatMap((key) => arena.watcher.rollouts.get(key)?.at(-1)?.at ?? []);
  return { ms: complete ? Math.max(...arrived) - change.at : Number.NaN, done: arrived.length };
}

const CONCURRENCIES = [1, 2, 4, 8, 16, 32, 64];
const FEW_CONCURRENCIES = [16, 64];

async function floorOf(stage: Stage, fan: Fan, changes: number): Promise<void> {
  const { arena, record, say } = stage;
  const size = fan.workloads.length;
  const best = { ms: Number.POSITIVE_INFINITY, note: '' };
  for (const protocol of ['h1', 'h2']) {
    // Five thousand writes one after the other say nothing new about the floor.
    for (const concurrency of stage.quick || size > 1000 ? FEW_CONCURRENCIES : CONCURRENCIES) {
      const how = [`--protocol=${protocol}`, `--concurrency=${concurrency}`];
      const floor = await arena.startFloor([...how, `--namespace=${fan.namespace}`, `--fan=${size}`]);
      const taken: number[] = [];
      for (let left = changes; left > 0; left--) taken.push((await spread(arena, fan, 120_000)).ms);
      await arena.stop(floor);
      say(`floor, ${protocol}, ${concurrency} at a time: ${taken.map((ms) => ms.toFixed(0)).join(', ')} ms`);
      if (median(taken) < best.ms)
        Object.assign(best, { ms: median(taken), note: `${protocol}, ${concurrency} at a time` });
    }
  }
  record({ scenario: 'fanout', contender: 'floor', size, figures: { 'last template ms': best.ms }, note: best.note });
}

async function fanOut(stage: Stage, fan: Fan, contender: Contender, changes: number): Promise<void> {
  const { arena, quick, record, say } = stage;
  const size = fan.workloads.length;
  const deadlineMs = quick ? 60_000 : 300_000;
  await withContender(stage, contender, {}, async (program: Program) => {
    const taken: Spread[] = [];
    const measured = await arena.measure(contender.name, program, async () => {
      for (let left = changes; left > 0; left--) {
        const one = await spread(arena, fan, deadlineMs);
        taken.push(one);
        // One that takes minutes says so the first time.
        if (!(one.ms < 30_000)) return;
        await arena.calm(1500);
      }
    });
    const times = taken.map(({ ms }) => ms);
    say(`${contender.name}: ${times.map((ms) => ms.toFixed(0)).join(', ')} ms`);
    record({
      scenario: 'fanout',
      contender: contender.name,
      size,
      calls: measured.calls,
      figures: {
        'last template ms': median(times),
        'first change ms': times[0] ?? Number.NaN,
        'reached at the deadline': taken.at(-1)?.done ?? 0,
        ...costFigures(measured, taken.length * size),
        ...memoryFigures(program),
      },
    });
  });
}

function fanOutScenario(id: string, sizes: readonly number[], number?: string): Scenario {
  return {
    id,
    ...(number === undefined ? {} : { number }),
    title: `one change of a ConfigMap that ${sizes.join(', ')} Deployments use`,
    long: (sizes.at(-1) ?? 0) > 1000,
    async run(stage: Stage): Promise<void> {
      const { arena, contenders, quick } = stage;
      for (const size of quick ? sizes.slice(-1) : sizes) {
        const fan = await createFan(arena, size);
        const changes = quick || size > 1000 ? 2 : 3;
        await floorOf(stage, fan, changes);
        for (const contender of contenders) await fanOut(stage, fan, contender, changes);
        await arena.clear(contenders);
      }
    },
  };
}

export const fanOut1000 = fanOutScenario('fanout-1000', [100, 300, 1000], 'S16');
export const fanOut5000 = fanOutScenario('fanout-5000', [5000]);
