import { addCalls } from '../audit.ts';
import type { BenchCluster, Measured } from '../bench-cluster.ts';
import type { Contender } from '../contender.ts';
import { createAll, type SourceName, sourceManifest, workload } from '../objects.ts';
import { costFigures, memoryFigures, type Scenario, type ScenarioContext, withContender } from '../scenario.ts';
import { median } from '../statistics.ts';
import { workloadKey } from '../watcher.ts';

interface Fan {
  readonly namespace: string;
  readonly source: SourceName;
  readonly workloads: readonly string[];
}

/** So many Deployments that use one ConfigMap. */
export async function createFan(cluster: BenchCluster, count: number): Promise<Fan> {
  const namespace = await cluster.namespace(`bench-fan-out-${count}`);
  const source: SourceName = { kind: 'ConfigMap', namespace, name: 'shared' };
  const names = Array.from({ length: count }, (_, index) => `app-${index}`);
  await createAll(cluster.api, [sourceManifest(source, cluster.freshData())]);
  await createAll(
    cluster.api,
    names.map((name) => workload('Deployment', namespace, name, { uses: [source] })),
  );
  return { namespace, source, workloads: names.map((name) => workloadKey('Deployment', namespace, name)) };
}

interface Spread {
  /** From the accepted change to the last template; not a number where the deadline came first. */
  readonly ms: number;
  readonly done: number;
}

/** Changes it, and waits until all have a new template. */
export async function spread(cluster: BenchCluster, fan: Fan, deadlineMs: number): Promise<Spread> {
  cluster.resetRollouts();
  const change = await cluster.put(fan.source, fan.workloads);
  const complete = await cluster.carriedOut(change, deadlineMs);
  const arrived = fan.workloads.flatMap((key) => cluster.watcher.rollouts.get(key)?.at(-1)?.at ?? []);
  return { ms: complete ? Math.max(...arrived) - change.at : Number.NaN, done: arrived.length };
}

const FLOOR_DEADLINE_MS = 120_000;

async function floorTimes(cluster: BenchCluster, fan: Fan, how: readonly string[], changes: number): Promise<number[]> {
  const size = fan.workloads.length;
  const floor = await cluster.startFloor([...how, `--namespace=${fan.namespace}`, `--fan=${size}`]);
  const times: number[] = [];
  for (let left = changes; left > 0; left--) times.push((await spread(cluster, fan, FLOOR_DEADLINE_MS)).ms);
  await cluster.stop(floor);
  return times;
}

const CONCURRENCIES = [1, 2, 4, 8, 16, 32, 64];
const FEW_CONCURRENCIES = [16, 64];

/** The flags with which the floor is the fastest on this machine. */
async function fastestFloor(context: ScenarioContext, fan: Fan): Promise<readonly string[]> {
  const { cluster, quick, say } = context;
  let best: { readonly ms: number; readonly how: readonly string[] } | undefined;
  for (const protocol of ['h1', 'h2']) {
    // Five thousand writes one after the other would take long and never be the fastest.
    for (const concurrency of quick || fan.workloads.length > 1000 ? FEW_CONCURRENCIES : CONCURRENCIES) {
      const how = [`--protocol=${protocol}`, `--concurrency=${concurrency}`];
      const ms = Math.min(...(await floorTimes(cluster, fan, how, quick ? 1 : 2)));
      say(`floor, ${protocol}, ${concurrency} at a time: ${ms.toFixed(0)} ms`);
      if (!best || ms < best.ms) best = { ms, how };
    }
  }
  return best?.how ?? [];
}

interface Taken {
  readonly spreads: Spread[];
  readonly costs: Measured[];
  memory: Record<string, number>;
}

async function fanOut(context: ScenarioContext, fan: Fan, contender: Contender, taken: Taken): Promise<void> {
  const { cluster, quick } = context;
  const deadlineMs = quick ? 60_000 : 300_000;
  // A contender that takes minutes is measured once.
  if (taken.spreads.some(({ ms }) => !(ms < 30_000))) return;
  await withContender(context, contender, {}, async (program) => {
    for (let left = CHANGES; left > 0; left--) {
      const cost = await cluster.measure(contender.name, program, async () => {
        taken.spreads.push(await spread(cluster, fan, deadlineMs));
        await cluster.calm(1500);
      });
      taken.costs.push(cost);
      if (!((taken.spreads.at(-1)?.ms ?? 0) < 30_000)) break;
    }
    taken.memory = memoryFigures(program);
  });
}

const CHANGES = 2;

/** Contenders take turns, and the shortest time of each counts: other work of the machine only makes times longer. */
async function compare(context: ScenarioContext, fan: Fan): Promise<void> {
  const { cluster, contenders, quick, record } = context;
  const size = fan.workloads.length;
  const how = await fastestFloor(context, fan);
  const floor: number[] = [];
  const all = new Map(contenders.map((one) => [one, { spreads: [], costs: [], memory: {} } as Taken]));
  for (let round = quick ? 1 : 3; round > 0; round--) {
    floor.push(...(await floorTimes(cluster, fan, how, CHANGES)));
    for (const [contender, taken] of all) await fanOut(context, fan, contender, taken);
  }
  const note = how.join(' ').replaceAll('--', '');
  record({ scenario: 'fanout', contender: 'floor', size, figures: timeFigures(floor), note });
  for (const [{ name: contender }, { spreads, costs, memory }] of all) {
    const cost = { cpuMs: costs.reduce((sum, { cpuMs }) => sum + cpuMs, 0), calls: addCalls(costs) };
    const figures = {
      ...timeFigures(spreads.map(({ ms }) => ms)),
      'reached at the deadline': Math.min(...spreads.map(({ done }) => done)),
      ...costFigures(cost, spreads.length * size),
      ...memory,
    };
    record({ scenario: 'fanout', contender, size, figures, calls: cost.calls });
  }
}

function timeFigures(times: readonly number[]): Record<string, number> {
  return { 'last template ms': Math.min(...times), 'median ms': median(times) };
}

function fanOutScenario(id: string, sizes: readonly number[], number?: string): Scenario {
  return {
    id,
    ...(number === undefined ? {} : { number }),
    title: `one change of a ConfigMap that ${sizes.join(', ')} Deployments use`,
    long: (sizes.at(-1) ?? 0) > 1000,
    async run(context: ScenarioContext): Promise<void> {
      for (const size of context.quick ? sizes.slice(-1) : sizes) {
        await compare(context, await createFan(context.cluster, size));
        await context.cluster.clear(context.contenders);
      }
    },
  };
}

export const fanOut1000 = fanOutScenario('fanout-1000', [100, 300, 1000], 'S16');
export const fanOut5000 = fanOutScenario('fanout-5000', [5000]);
