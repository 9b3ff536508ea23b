import { total } from './audit.ts';
import type { BenchCluster, Measured } from './bench-cluster.ts';
import type { Contender } from './contender.ts';
import { AUTO, createAll, type Data, type SourceName, sourceManifest, workload } from './objects.ts';
import type { Program } from './program.ts';
import type { Result } from './results.ts';
import { percentile } from './statistics.ts';
import { workloadKey } from './watcher.ts';

/** What a scenario needs to run. */
export interface ScenarioContext {
  readonly cluster: BenchCluster;
  /** Ours first. */
  readonly contenders: readonly Contender[];
  readonly quick: boolean;
  readonly record: (result: Omit<Result, 'load'>) => void;
  readonly say: (line: string) => void;
}

export interface Scenario {
  readonly id: string;
  /** Its number among Stakater Reloader's load tests, or in their continuation. */
  readonly number?: string;
  readonly title: string;
  /** An API server of its own, whose store may grow to so many bytes. */
  readonly storeBytes?: number;
  /** Left out of a quick run. */
  readonly long?: boolean;
  run(context: ScenarioContext): Promise<void>;
}

/** A source, and the workload that uses it and nothing else. */
export interface Pair {
  readonly source: SourceName;
  readonly workload: string;
}

/** So many ConfigMaps, each with a Deployment of the same name. */
export async function createPairs(
  cluster: BenchCluster,
  namespace: string,
  count: number,
  annotations: Data = AUTO,
): Promise<Pair[]> {
  await cluster.namespace(namespace);
  const sources = Array.from(
    { length: count },
    (_, index): SourceName => ({ kind: 'ConfigMap', namespace, name: `app-${index}` }),
  );
  await createAll(
    cluster.api,
    sources.map((source) => sourceManifest(source, cluster.freshData())),
  );
  await createAll(
    cluster.api,
    sources.map((source) => workload('Deployment', namespace, source.name, { uses: [source], annotations })),
  );
  return sources.map((source) => ({ source, workload: workloadKey('Deployment', namespace, source.name) }));
}

/** Runs `work` with a contender that has reacted once; without it if the contender lacks the flags for this scenario. */
export async function withContender(
  context: ScenarioContext,
  contender: Contender,
  options: Parameters<BenchCluster['start']>[1],
  work: (program: Program, firstReactionMs: number) => Promise<void>,
): Promise<void> {
  const { cluster, say } = context;
  const program = await cluster.start(contender, options);
  if (!program) {
    say(`${contender.name} cannot be told what this scenario needs`);
    return;
  }
  try {
    const firstReactionMs = await cluster.firstReaction(program, options?.atOnce === false ? 2500 : 25);
    cluster.resetRollouts();
    await work(program, firstReactionMs);
  } finally {
    await cluster.stop(program);
  }
}

export function latencyFigures(latencies: readonly number[]): Record<string, number> {
  if (latencies.length === 0) return {};
  return {
    'p50 ms': percentile(latencies, 0.5),
    'p95 ms': percentile(latencies, 0.95),
    'p99 ms': percentile(latencies, 0.99),
  };
}

/** Calls and processor time for each of so many changes. */
export function costFigures({ calls, cpuMs }: Measured, changes: number): Record<string, number> {
  const writes = ['patch', 'update', 'create', 'delete'].map((verb) => total(calls, verb, 'events'));
  const reads = ['list', 'get', 'watch'].map((verb) => total(calls, verb));
  const events = (calls['create events'] ?? 0) + (calls['patch events'] ?? 0);
  return {
    'writes per change': sum(writes) / changes,
    'reads per change': sum(reads) / changes,
    'Events per change': events / changes,
    'CPU ms per change': cpuMs / changes,
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}

export const MB = 1e6;

export function memoryFigures(program: Program): Record<string, number> {
  const { rssBytes, peakBytes } = program.memory();
  return { 'RSS MB': rssBytes / MB, 'peak MB': peakBytes / MB };
}
