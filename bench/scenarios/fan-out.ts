import type { Arena, Measured } from '../arena.ts';
import { addCalls } from '../audit.ts';
import type { Contender } from '../contender.ts';
import { createAll, type SourceName, sourceManifest, workload } from '../objects.ts';
import { costFigures, memoryFigures, type Scenario, type Stage, withContender } from '../scenario.ts';
import { median } from '../statistics.ts';
import { workloadKey } from '../watcher.ts';

interface Fan {
  readonly namespace: string;
  readonly source: SourceName;
  readonly workloads: readonly string[];
}

/** So many Deployments that use one ConfigMap. */
export async function createFan(arena: Arena, count: number): Promise<Fan> {
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
  /** From the accepted change to the last template; not a number where the deadline came first. */
  readonly ms: number;
  readonly done: number;
}

/** Changes it, and waits until all have a new template. */
export async function spread(arena: Arena, fan: Fan, deadlineMs: number): Promise<Spread> {
  arena.resetRollouts();
  const change = await arena.put(fan.source, fan.workloads);
  const complete = await arena.carriedOut(change, deadlineMs);
  const arrived = fan.workloads.flatMap((key) => arena.watcher.rollouts.get(key)?.at(-1)?.at ?? []);
  return { ms: complete ? Math.max(...arrived) - change.at : Number.NaN, done: arrived.length };
}

const FLOOR_DEADLINE_MS = 120_000;

async function floorTimes(arena: Arena, fan: Fan, how: readonly string[], changes: number): Promise<number[]> {
  const size = fan.workloads.length;
  const floor = await arena.startFloor([...how, `--namespace=${fan.namespace}`, `--fan=${size}`]);
  const times: number[] = [];
  for (let left = changes; left > 0; left--) times.push((await spread(arena, fan, FLOOR_DEADLINE_MS)).ms);
  await arena.stop(floor);
  return times;
}

const CONCURRENCIES = [1, 2, 4, 8, 16, 32, 64];
const FEW_CONCURRENCIES = [16, 64];

/** The way to send that is the quickest here. */
async function bestWay(stage: Stage, fan: Fan): Promise<readonly string[]> {
  const { arena, quick, say } = stage;
  let best: { readonly ms: number; readonly how: readonly string[] } | undefined;
  for (const protocol of ['h1', 'h2']) {
    // Five thousand writes one after the other say nothing new about the floor.
    for (const concurrency of quick || fan.workloads.length > 1000 ? FEW_CONCURRENCIES : CONCURRENCIES) {
      const how = [`--protocol=${protocol}`, `--concurrency=${concurrency}`];
      const ms = Math.min(...(await floorTimes(arena, fan, how, quick ? 1 : 2)));
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

async function fanOut(stage: Stage, fan: Fan, contender: Contender, taken: Taken): Promise<void> {
  const { arena, quick } = stage;
  const deadlineMs = quick ? 60_000 : 300_000;
  // One that takes minutes has said so the first time.
  if (taken.spreads.some(({ ms }) => !(ms < 30_000))) return;
  await withContender(stage, contender, {}, async (program) => {
    for (let left = CHANGES; left > 0; left--) {
      const cost = await arena.measure(contender.name, program, async () => {
        taken.spreads.push(await spread(arena, fan, deadlineMs));
        await arena.calm(1500);
      });
      taken.costs.push(cost);
      if (!((taken.spreads.at(-1)?.ms ?? 0) < 30_000)) break;
    }
    taken.memory = memoryFigures(program);
  });
}

const CHANGES = 2;

/** In turns, and the quickest of each: whatever else the machine has to do only adds to a time. */
async function compare(stage: Stage, fan: Fan): Promise<void> {
  const { arena, contenders, quick, record } = stage;
  const size = fan.workloads.length;
  const how = await bestWay(stage, fan);
  const floor: number[] = [];
  const all = new Map(contenders.map((one) => [one, { spreads: [], costs: [], memory: {} } as Taken]));
  for (let round = quick ? 1 : 3; round > 0; round--) {
    floor.push(...(await floorTimes(arena, fan, how, CHANGES)));
    for (const [contender, taken] of all) await fanOut(stage, fan, contender, taken);
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
    async run(stage: Stage): Promise<void> {
      for (const size of stage.quick ? sizes.slice(-1) : sizes) {
        await compare(stage, await createFan(stage.arena, size));
        await stage.arena.clear(stage.contenders);
      }
    },
  };
}

export const fanOut1000 = fanOutScenario('fanout-1000', [100, 300, 1000], 'S16');
export const fanOut5000 = fanOutScenario('fanout-5000', [5000]);
