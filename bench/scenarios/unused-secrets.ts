import { setTimeout as delay } from 'node:timers/promises';
import type { Manifest } from '../api.ts';
import type { BenchCluster } from '../bench-cluster.ts';
import { createAll, sourceManifest } from '../objects.ts';
import {
  costFigures,
  createPairs,
  latencyFigures,
  memoryFigures,
  type Scenario,
  type ScenarioContext,
  withContender,
} from '../scenario.ts';
import { median } from '../statistics.ts';
import { changeOneByOne } from './latency.ts';

const NAMESPACES = 20;
// Time for a program to collect the garbage of its start.
const REST_MS = 15_000;

interface UnusedSecrets {
  readonly id: string;
  readonly number?: string;
  readonly sizes: readonly number[];
  readonly quickSizes: readonly number[];
  readonly bytes: number;
  readonly long?: boolean;
}

function* secrets(from: number, to: number, bytes: number): Generator<Manifest> {
  const value = 'x'.repeat(bytes);
  for (let index = from; index < to; index++) {
    const namespace = `bench-pile-${index % NAMESPACES}`;
    yield sourceManifest({ kind: 'Secret', namespace, name: `filler-${index}` }, { value: `${index}-${value}` });
  }
}

async function measureAt(context: ScenarioContext, id: string, size: number): Promise<void> {
  const { cluster, contenders, record, quick } = context;
  const pairs = await createPairs(cluster, 'bench-pile-used', 50);
  for (const contender of contenders) {
    const starts: number[] = [];
    const memory: Record<string, number>[] = [];
    for (let left = quick ? 1 : 3; left > 0; left--) {
      await withContender(context, contender, {}, async (program, firstReactionMs) => {
        starts.push(firstReactionMs);
        await delay(REST_MS);
        memory.push(memoryFigures(program));
        if (left > 1) return;
        let latencies: number[] = [];
        const measured = await cluster.measure(contender.name, program, async () => {
          latencies = await changeOneByOne(cluster, pairs, 50);
        });
        record({
          scenario: id,
          contender: contender.name,
          size,
          latencies,
          calls: measured.calls,
          figures: {
            'RSS MB': median(memory.map((figures) => figures['RSS MB'] ?? Number.NaN)),
            'peak MB': Math.max(...memory.map((figures) => figures['peak MB'] ?? Number.NaN)),
            'first reaction ms': median(starts),
            ...latencyFigures(latencies),
            ...costFigures(measured, latencies.length),
          },
        });
      });
    }
  }
}

function unusedSecrets({ id, number, sizes, quickSizes, bytes, long }: UnusedSecrets): Scenario {
  return {
    id,
    ...(number === undefined ? {} : { number }),
    ...(long === undefined ? {} : { long }),
    title: `${sizes.join(', ')} Secrets of ${bytes / 1024} KiB that nobody uses, beside 50 pairs`,
    storeBytes: 8 * 1024 ** 3,
    async run(context: ScenarioContext): Promise<void> {
      const { cluster, quick, say } = context;
      await createNamespaces(cluster);
      let from = 0;
      for (const size of quick ? quickSizes : sizes) {
        say(`creating ${size - from} Secrets`);
        await createAll(cluster.api, secrets(from, size, bytes));
        from = size;
        await measureAt(context, id, size);
      }
    },
  };
}

async function createNamespaces(cluster: BenchCluster): Promise<void> {
  for (let index = 0; index < NAMESPACES; index++) await cluster.namespace(`bench-pile-${index}`);
}

/** Secrets that nobody uses, for scenarios that are about something else. */
export async function createUnusedSecrets(cluster: BenchCluster, count: number, bytes: number): Promise<void> {
  if (count === 0) return;
  await createNamespaces(cluster);
  await createAll(cluster.api, secrets(0, count, bytes));
}

export const secrets20k = unusedSecrets({
  id: 'secrets-20k',
  number: 'S15',
  sizes: [5000, 10_000, 20_000],
  quickSizes: [20_000],
  bytes: 10 * 1024,
});

export const secrets100k = unusedSecrets({
  id: 'secrets-100k',
  sizes: [20_000, 50_000, 100_000],
  quickSizes: [],
  bytes: 1024,
  long: true,
});
