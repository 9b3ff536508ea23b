import { setTimeout as delay } from 'node:timers/promises';
import type { Put } from '../delivery.ts';
import { createAll, type SourceName, sourceManifest, workload } from '../objects.ts';
import { type Scenario, type ScenarioContext, withContender } from '../scenario.ts';
import { workloadKey } from '../watcher.ts';

const SOURCES = 5;
const APART_MS = 150;

/** What a person does who applies a folder: several sources of one workload, one after the other. */
export const batch: Scenario = {
  id: 'batch',
  number: 'S17',
  title: '5 ConfigMaps of one Deployment changed 150 ms apart, default settings',
  async run(context: ScenarioContext): Promise<void> {
    const { cluster, contenders, record } = context;
    const namespace = await cluster.namespace('bench-batch');
    const key = workloadKey('Deployment', namespace, 'app');
    const sources = Array.from(
      { length: SOURCES },
      (_, index): SourceName => ({ kind: 'ConfigMap', namespace, name: `part-${index}` }),
    );
    for (const contender of contenders) {
      await createAll(
        cluster.api,
        sources.map((source) => sourceManifest(source, cluster.freshData())),
      );
      await createAll(cluster.api, [workload('Deployment', namespace, 'app', { uses: sources })]);
      await withContender(context, contender, { atOnce: false }, async () => {
        const puts: Put[] = [];
        for (const source of sources) {
          puts.push(await cluster.put(source, [key]));
          await delay(APART_MS);
        }
        const { rollouts, missed } = await cluster.settled(puts, 30_000);
        const last = puts.at(-1)?.at ?? Number.NaN;
        const ms = (cluster.watcher.rollouts.get(key)?.at(-1)?.at ?? Number.NaN) - last;
        record({
          scenario: 'batch',
          contender: contender.name,
          figures: { rollouts, missed, 'last change to last template ms': ms },
        });
      });
      await cluster.clear(contenders);
    }
  },
};
