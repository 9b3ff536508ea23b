import { setTimeout as delay } from 'node:timers/promises';
import type { BenchCluster } from '../bench-cluster.ts';
import { deliveryOf, type Put } from '../delivery.ts';
import { createAll, objectPath, type SourceName, sourceManifest, workload } from '../objects.ts';
import { latencyFigures, memoryFigures, type Scenario, type ScenarioContext, withContender } from '../scenario.ts';
import { workloadKey } from '../watcher.ts';

const KEPT = 10;

/** Workloads are created and deleted while their source changes. A workload created after a change has its data. */
export const churn: Scenario = {
  id: 'churn',
  number: 'S5',
  long: true,
  title: 'a Deployment comes and one goes every 500 ms, their ConfigMap changes every 2 s',
  async run(context: ScenarioContext): Promise<void> {
    const { cluster, contenders, quick, record } = context;
    const namespace = await cluster.namespace('bench-s5');
    const source: SourceName = { kind: 'ConfigMap', namespace, name: 'shared' };
    for (const contender of contenders) {
      await createAll(cluster.api, [sourceManifest(source, cluster.freshData())]);
      await withContender(context, contender, {}, async (program) => {
        const present = new ChangingWorkloads(cluster, source);
        const puts: Put[] = [];
        for (let turn = 0; turn < (quick ? 8 : 40); turn++) {
          await present.turn(`app-${turn}`);
          if (turn % 4 === 3) puts.push(await cluster.put(source, present.keys));
          await delay(500);
        }
        await cluster.calm(2000);
        // Only workloads that still exist count.
        const left = new Set(present.keys);
        const late = puts.map((put) => ({ ...put, workloads: put.workloads.filter((key) => left.has(key)) }));
        const delivery = deliveryOf(late, new Map([...cluster.watcher.rollouts].filter(([key]) => left.has(key))));
        const { latencies, missed, surplus, rollouts, expected } = delivery;
        record({
          scenario: 'churn',
          contender: contender.name,
          latencies,
          figures: { expected, rollouts, missed, surplus, ...latencyFigures(latencies), ...memoryFigures(program) },
        });
      });
      await cluster.clear(contenders);
    }
  },
};

/** The workloads that exist at the moment. */
class ChangingWorkloads {
  readonly #cluster: BenchCluster;
  readonly #source: SourceName;
  readonly #names: string[] = [];

  constructor(cluster: BenchCluster, source: SourceName) {
    this.#cluster = cluster;
    this.#source = source;
  }

  get keys(): readonly string[] {
    return this.#names.map((name) => workloadKey('Deployment', this.#source.namespace, name));
  }

  /** Creates a workload, and deletes the oldest if there are too many. */
  async turn(name: string): Promise<void> {
    const { namespace } = this.#source;
    await createAll(this.#cluster.api, [workload('Deployment', namespace, name, { uses: [this.#source] })]);
    this.#names.push(name);
    const gone = this.#names.length > KEPT ? this.#names.shift() : undefined;
    if (gone) await this.#cluster.api.call('DELETE', objectPath('Deployment', namespace, gone));
  }
}
