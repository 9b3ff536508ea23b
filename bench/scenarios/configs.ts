import { setTimeout as delay } from 'node:timers/promises';
import { crd } from '../../src/api/reloader-config/crd.ts';
import type { BenchCluster } from '../bench-cluster.ts';
import { collectionPath, createAll, objectPath } from '../objects.ts';
import {
  createPairs,
  latencyFigures,
  memoryFigures,
  type Pair,
  type Scenario,
  type ScenarioContext,
  withContender,
} from '../scenario.ts';
import { changeOneByOne } from './latency.ts';

const SIZE = 500;
const NAMESPACE = 'bench-configs';
const CHANGES = 50;
const WARM_UP = 10;
// A status is written up to 5 s after what it tells.
const STATUS_MS = 6000;
// Of objects: which kinds there are is asked from time to time, whatever changes.
const READ = /^(list|get) [^/]/;

/** What many ReloaderConfigs cost a change that concerns one of them; others have no such thing. */
export const configs: Scenario = {
  id: 'configs',
  title: '500 ReloaderConfigs over 500 Deployments without annotations, one change at a time, at once',
  async run(context: ScenarioContext): Promise<void> {
    const { cluster, contenders, record } = context;
    const [ours] = contenders;
    if (!ours) return;
    const definition = crd();
    await createAll(cluster.api, [definition]);
    await served(cluster);
    const pairs = await createPairs(cluster, NAMESPACE, SIZE, {});
    await withContender(context, ours, {}, async (program, firstReactionMs) => {
      await createAll(cluster.api, pairs.map(configOf));
      await delay(STATUS_MS);
      const surplus = cluster.watcher.count;
      await changeOneByOne(cluster, pairs, WARM_UP);
      await delay(STATUS_MS);
      const latencies: number[] = [];
      const { calls, cpuMs } = await cluster.measure(ours.name, program, async () => {
        latencies.push(...(await changeOneByOne(cluster, pairs.slice(WARM_UP), CHANGES)));
        await delay(STATUS_MS);
      });
      const reads = Object.entries(calls).filter(([call]) => READ.test(call));
      record({
        scenario: 'configs',
        contender: 'attune',
        size: SIZE,
        figures: {
          ...latencyFigures(latencies),
          'rollouts for 500 new ReloaderConfigs': surplus,
          'PATCHes of workloads per change': (calls['patch deployments'] ?? 0) / CHANGES,
          'status writes per change': (calls['patch reloaderconfigs/status'] ?? 0) / CHANGES,
          'reads per change': reads.reduce((sum, [, count]) => sum + count, 0) / CHANGES,
          'CPU ms per change': cpuMs / CHANGES,
          'first reaction ms': firstReactionMs,
          ...memoryFigures(program),
        },
        calls,
      });
    });
    // With it go those of all namespaces.
    await cluster.api.call('DELETE', objectPath(definition.kind, undefined, definition.metadata.name));
    await cluster.clear(contenders);
  },
};

function configOf({ source: { namespace, name } }: Pair) {
  return {
    apiVersion: 'reloader.stakater.com/v1alpha1',
    kind: 'ReloaderConfig',
    metadata: { namespace, name },
    spec: { watchedResources: { configMaps: [name] }, targets: [{ kind: 'Deployment', name }] },
  };
}

async function served({ api }: BenchCluster): Promise<void> {
  for (let left = 100; left > 0; left--) {
    if ((await api.send('GET', collectionPath('ReloaderConfig'))).status === 200) return;
    await delay(100);
  }
  throw new Error('ReloaderConfigs are not served');
}
