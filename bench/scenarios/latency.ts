import { setTimeout as delay } from 'node:timers/promises';
import { addCalls } from '../audit.ts';
import type { BenchCluster, Measured } from '../bench-cluster.ts';
import type { Program } from '../program.ts';
import {
  costFigures,
  createPairs,
  latencyFigures,
  memoryFigures,
  type Pair,
  type Scenario,
  type ScenarioContext,
  withContender,
} from '../scenario.ts';

const PAIRS = 50;
const WARM_UP = 10;
// So that what a contender does after its write, an Event for example, is done before the next change.
const GAP_MS = 50;
const DEADLINE_MS = 30_000;

/** One change after the other; milliseconds from each to its template. */
export async function changeOneByOne(cluster: BenchCluster, pairs: readonly Pair[], count: number): Promise<number[]> {
  const latencies: number[] = [];
  for (let index = 0; index < count; index++) {
    const pair = pairs[index % pairs.length];
    if (!pair) break;
    const change = await cluster.put(pair.source, [pair.workload]);
    if (!(await cluster.carriedOut(change, DEADLINE_MS))) throw new Error(`no reaction within ${DEADLINE_MS} ms`);
    latencies.push((cluster.watcher.rollouts.get(pair.workload)?.at(-1)?.at ?? Number.NaN) - change.at);
    await delay(GAP_MS);
  }
  return latencies;
}

interface Sample {
  readonly latencies: number[];
  readonly first: number[];
  readonly costs: Measured[];
  readonly memory: Record<string, number>[];
}

/** Samples of one program, warm-up apart: its first answer is reported, not averaged in. */
async function sample(cluster: BenchCluster, { name, program }: Subject, into: Sample, work: Work): Promise<void> {
  const [first = Number.NaN] = await changeOneByOne(cluster, work.pairs, WARM_UP);
  into.first.push(first);
  into.costs.push(
    await cluster.measure(name, program, async () => {
      into.latencies.push(...(await changeOneByOne(cluster, work.pairs, work.count)));
    }),
  );
  into.memory.push(memoryFigures(program));
}

interface Subject {
  /** As the audit log knows it. */
  readonly name: string;
  readonly program: Program;
}

interface Work {
  readonly pairs: readonly Pair[];
  readonly count: number;
}

export const latency: Scenario = {
  id: 'latency',
  title: '50 pairs, one change at a time, at once',
  async run(context: ScenarioContext): Promise<void> {
    const { cluster, contenders, quick } = context;
    const namespace = 'bench-latency';
    const pairs = await createPairs(cluster, namespace, PAIRS);
    const samples = new Map<string, Sample>();
    const of = (name: string): Sample => {
      const known = samples.get(name) ?? { latencies: [], first: [], costs: [], memory: [] };
      samples.set(name, known);
      return known;
    };
    const work: Work = { pairs, count: quick ? 100 : 150 };
    // In turns, because the speed of the machine changes within minutes.
    for (let round = 0; round < (quick ? 1 : 3); round++) {
      for (const protocol of ['h1', 'h2']) {
        const floor = await cluster.startFloor([
          `--protocol=${protocol}`,
          '--concurrency=1',
          `--namespace=${namespace}`,
        ]);
        await sample(cluster, { name: 'floor', program: floor }, of(`floor ${protocol}`), work);
        await cluster.stop(floor);
      }
      for (const contender of contenders) {
        await withContender(context, contender, {}, (program) =>
          sample(cluster, { name: contender.name, program }, of(contender.name), work),
        );
      }
    }
    for (const [contender, taken] of samples) recordSample(context, 'latency', contender, taken);
  },
};

export const latencyDefault: Scenario = {
  id: 'latency-default',
  title: 'the same at the default quiet period (1 s)',
  async run(context: ScenarioContext): Promise<void> {
    const { cluster, contenders, quick } = context;
    const pairs = await createPairs(cluster, 'bench-latency', PAIRS);
    const [ours] = contenders;
    if (!ours) return;
    const taken: Sample = { latencies: [], first: [], costs: [], memory: [] };
    await withContender(context, ours, { atOnce: false }, async (program) => {
      taken.costs.push(
        await cluster.measure(ours.name, program, async () => {
          taken.latencies.push(...(await changeOneByOne(cluster, pairs, quick ? 10 : 50)));
        }),
      );
      taken.memory.push(memoryFigures(program));
    });
    recordSample(context, 'latency-default', ours.name, taken);
  },
};

function recordSample(context: ScenarioContext, scenario: string, contender: string, taken: Sample): void {
  const { latencies, first, costs, memory } = taken;
  const all: Measured = {
    cpuMs: costs.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
    calls: addCalls(costs),
  };
  context.record({
    scenario,
    contender,
    latencies,
    calls: all.calls,
    figures: {
      ...latencyFigures(latencies),
      ...(first.length > 0 ? { 'first change ms': Math.max(...first) } : {}),
      ...costFigures(all, latencies.length),
      // The floor is run from its source, with the compiler in memory.
      ...(contender.startsWith('floor') ? {} : memory.at(-1)),
    },
  });
}
