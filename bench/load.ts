import { setTimeout as delay } from 'node:timers/promises';
import { now } from './api.ts';
import type { BenchCluster } from './bench-cluster.ts';
import type { Contender } from './contender.ts';
import type { Put } from './delivery.ts';
import type { Data, SourceName } from './objects.ts';
import type { Program } from './program.ts';
import {
  costFigures,
  latencyFigures,
  memoryFigures,
  type Scenario,
  type ScenarioContext,
  withContender,
} from './scenario.ts';
import { seededRandom } from './statistics.ts';

/** A source that the load changes, and the workloads that use it. */
export interface ChangedSource {
  readonly source: SourceName;
  readonly workloads: readonly string[];
}

export interface Rhythm {
  readonly everyMs: number;
  /** How many writers change sources at this rate, independently. */
  readonly writers?: number;
}

/** Steady changes of sources, as Stakater Reloader's load tests have them, and what must come of them. */
export interface Load {
  readonly id: string;
  readonly number: string;
  readonly title: string;
  readonly rhythm: Rhythm;
  readonly flags?: readonly string[];
  readonly long?: boolean;
  /** How long what is due may take to be seen after the last change. */
  readonly settleMs?: number;
  readonly seconds?: number;
  setUp(cluster: BenchCluster): Promise<readonly ChangedSource[]>;
  /** Another change than of the usual value: gives what is to be rolled for it. */
  readonly change?: (cluster: BenchCluster, target: ChangedSource) => Promise<Put>;
  /** What happens beside the changes; gives the program that runs afterwards. */
  readonly beside?: (cluster: BenchCluster, load: Beside) => Promise<Program>;
}

export interface Beside {
  readonly contender: Contender;
  readonly program: Program;
  readonly seconds: number;
}

/** Changes random sources at fixed times, whether contenders keep up or not; returns what the API server accepted. */
export async function drive(
  cluster: BenchCluster,
  load: Load,
  targets: readonly ChangedSource[],
  seconds: number,
): Promise<Put[]> {
  const puts: Put[] = [];
  const start = now();
  const writer = async (number: number): Promise<void> => {
    const random = seededRandom(number + 1);
    for (let turn = 0; turn * load.rhythm.everyMs < seconds * 1000; turn++) {
      const wait = start + turn * load.rhythm.everyMs - now();
      if (wait > 0) await delay(wait);
      const target = targets[Math.floor(random() * targets.length)];
      if (!target) return;
      puts.push(await (load.change ?? usualChange)(cluster, target));
    }
  };
  await Promise.all(Array.from({ length: load.rhythm.writers ?? 1 }, (_, number) => writer(number)));
  return puts;
}

function usualChange(cluster: BenchCluster, { source, workloads }: ChangedSource): Promise<Put> {
  return cluster.put(source, workloads);
}

/** Data of several keys of which one is new. */
export function changeOf(keys: (data: Data) => Data): NonNullable<Load['change']> {
  return (cluster, { source, workloads }) => cluster.put(source, workloads, keys(cluster.freshData()));
}

export function loadScenario(load: Load): Scenario {
  const { id, number, title, long } = load;
  return {
    id,
    number,
    title,
    ...(long === undefined ? {} : { long }),
    async run(context: ScenarioContext): Promise<void> {
      for (const contender of context.contenders) {
        await runLoad(context, load, contender);
        await context.cluster.clear(context.contenders);
      }
    },
  };
}

async function runLoad(context: ScenarioContext, load: Load, contender: Contender): Promise<void> {
  const { cluster, quick, record } = context;
  const seconds = quick ? 4 : (load.seconds ?? 20);
  const targets = await load.setUp(cluster);
  await withContender(context, contender, { flags: load.flags ?? [] }, async (started) => {
    let program = started;
    let puts: Put[] = [];
    let delivery = cluster.delivery(puts);
    const start = now();
    const measured = await cluster.measure(contender.name, program, async () => {
      const beside = load.beside?.(cluster, { contender, program, seconds });
      puts = await drive(cluster, load, targets, seconds);
      program = (await beside) ?? program;
      delivery = await cluster.settled(puts, load.settleMs ?? 10_000, 1500);
      return program;
    });
    record({
      scenario: load.id,
      contender: contender.name,
      latencies: delivery.latencies,
      calls: measured.calls,
      figures: {
        'changes per s': (puts.length * 1000) / (now() - start),
        changes: puts.length,
        expected: delivery.expected,
        rollouts: delivery.rollouts,
        missed: delivery.missed,
        'marks behind': delivery.behind,
        surplus: delivery.surplus,
        ...latencyFigures(delivery.latencies),
        ...costFigures(measured, delivery.rollouts || puts.length),
        ...memoryFigures(program),
      },
    });
    if (program !== started) await cluster.stop(program);
  });
}
