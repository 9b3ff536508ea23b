import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { addCalls, type Calls } from '../audit.ts';
import type { BenchCluster, Measured } from '../bench-cluster.ts';
import { changesAndMounts, type Kind, type Latency, timeChange } from '../redis/changes.ts';
import { serveClusters } from '../redis/cluster-objects.ts';
import type { RedisPod } from '../redis/redis-pod.ts';
import { startAgent } from '../redis/start-agent.ts';
import { startFloor } from '../redis/start-floor.ts';
import { costFigures, MB, memoryFigures, type Scenario, type ScenarioContext } from '../scenario.ts';
import { percentile } from '../statistics.ts';

const BLOCK = 10;
const WARM_UP = 3;
// Longer than the least time between two passes, and never in step with a timer.
const GAP_MS = [250, 350] as const;
const REST_MS = 10_000;
const MINUTE_MS = 60_000;

/** An agent for Redis: what it takes, and how long a change takes to count in Redis. */
export const redisAgent: Scenario = {
  id: 'redis',
  title: 'an agent for Redis: memory, and from a changed parameter, password or certificate to what Redis does',
  async run(context: ScenarioContext): Promise<void> {
    const { cluster, contenders, say } = context;
    const unserve = await serveClusters(cluster.api);
    const { kinds, mounts } = await changesAndMounts();
    const pods: RedisPod[] = [];
    try {
      pods.push(await startFloor(cluster, mounts));
      for (const contender of contenders) {
        const pod = await startAgent(cluster, contender, mounts);
        if (pod) pods.push(pod);
        else say(`${contender.name} cannot be told to be an agent for Redis`);
      }
      await compare(context, pods, kinds);
    } finally {
      for (const pod of pods) await pod.stop();
      await unserve();
    }
  },
};

async function compare(context: ScenarioContext, pods: readonly RedisPod[], kinds: readonly Kind[]): Promise<void> {
  const { cluster, quick, record } = context;
  const taken = new Map(pods.map((pod): [RedisPod, Taken[]] => [pod, []]));
  for (const kind of kinds) {
    for (const pod of pods) await block(cluster, pod, kind, WARM_UP);
    // In turns, because the speed of the machine changes within minutes.
    for (let turn = 0; turn < (quick ? 3 : 5); turn += 1) {
      for (const pod of pods) taken.get(pod)?.push(await block(cluster, pod, kind, BLOCK));
    }
  }
  await delay(REST_MS);
  // The floor is run from its source, with the compiler in memory.
  const agents = pods.filter(({ tells }) => tells);
  const atRest = new Map(agents.map((pod) => [pod, restFigures(pod)]));
  for (const [pod, done] of taken) {
    const { contender, tells } = pod;
    const ofKinds = kinds.map((kind) => Object.entries(kindFigures(kind, done)));
    const idle = tells ? await idleMinute(cluster, pod) : {};
    const figures = { ...Object.fromEntries(ofKinds.flat()), ...atRest.get(pod), ...idle };
    record({ scenario: 'redis', contender, calls: addCalls(done.map(({ cost }) => cost)), figures });
  }
}

const restFigures = ({ program }: RedisPod): Record<string, number> => ({
  ...memoryFigures(program),
  // The rest are pages of Node's program file, which all of a machine's Nodes share.
  'of it its own MB': program.memory().ownBytes / MB,
});

/** A block of changes of one kind, and what they cost. */
interface Taken {
  readonly kind: string;
  readonly latencies: readonly Latency[];
  readonly cost: Measured;
  readonly commands: number;
}

async function block(cluster: BenchCluster, pod: RedisPod, kind: Kind, count: number): Promise<Taken> {
  const latencies: Latency[] = [];
  const before = await pod.commands();
  const cost = await cluster.measure(pod.account, pod.program, async () => {
    for (let index = 0; index < count; index += 1) {
      latencies.push(await timeChange(cluster, pod, kind));
      await delay(randomInt(...GAP_MS));
    }
  });
  return { kind: kind.name, latencies, cost, commands: (await pod.commands()) - before };
}

function kindFigures({ name }: Kind, all: readonly Taken[]): Record<string, number> {
  const done = all.filter(({ kind }) => kind === name);
  const latencies = done.flatMap((each) => each.latencies);
  const counts = latencies.map(({ countsMs }) => countsMs);
  const told = latencies.map(({ toldMs }) => toldMs).filter((ms) => !Number.isNaN(ms));
  const cost = { calls: addCalls(done.map((each) => each.cost)), cpuMs: sum(done.map((each) => each.cost.cpuMs)) };
  const figures = {
    'p50 ms': percentile(counts, 0.5),
    'p95 ms': percentile(counts, 0.95),
    ...(told.length > 0
      ? { 'in status p50 ms': percentile(told, 0.5), 'in status p95 ms': percentile(told, 0.95) }
      : {}),
    'commands per change': sum(done.map(({ commands }) => commands)) / latencies.length,
    ...costFigures(cost, latencies.length),
  };
  return Object.fromEntries(Object.entries(figures).map(([figure, value]) => [`${name}: ${figure}`, value]));
}

/** What it does when there is nothing to do. */
async function idleMinute(cluster: BenchCluster, pod: RedisPod): Promise<Record<string, number>> {
  const before = await pod.commands();
  const { cpuMs, calls } = await cluster.measure(pod.account, pod.program, () => delay(MINUTE_MS));
  return {
    'idle CPU ms per minute': cpuMs,
    'idle commands per minute': (await pod.commands()) - before,
    'idle API calls per minute': countOf(calls),
  };
}

const countOf = (calls: Calls): number => sum(Object.values(calls));

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
