import { setTimeout as delay } from 'node:timers/promises';
import type { BenchCluster } from '../bench-cluster.ts';
import { type ChangedSource, changeOf, type Load, loadScenario } from '../load.ts';
import { AUTO, createAll, objectPath, type SourceName, sourceManifest, workload } from '../objects.ts';
import { createPairs, type Scenario } from '../scenario.ts';
import { workloadKey } from '../watcher.ts';

// The sizes and rhythms of Stakater Reloader's load tests, with a generator that keeps them.

const configMap = (namespace: string, name: string): SourceName => ({ kind: 'ConfigMap', namespace, name });
const secret = (namespace: string, name: string): SourceName => ({ kind: 'Secret', namespace, name });
const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

async function pairs(cluster: BenchCluster, namespace: string, count: number): Promise<ChangedSource[]> {
  const created = await createPairs(cluster, namespace, count);
  return created.map(({ source, workload: key }) => ({ source, workloads: [key] }));
}

async function createSources(cluster: BenchCluster, sources: readonly SourceName[]): Promise<void> {
  for (const { namespace } of sources) await cluster.namespace(namespace);
  await createAll(
    cluster.api,
    sources.map((source) => sourceManifest(source, cluster.freshData())),
  );
}

interface User {
  readonly kind: 'Deployment' | 'StatefulSet' | 'DaemonSet';
  readonly name: string;
  readonly uses: readonly SourceName[];
}

/** Creates workloads, and says of each source who uses it. */
async function createUsers(cluster: BenchCluster, namespace: string, users: readonly User[]): Promise<ChangedSource[]> {
  await createAll(
    cluster.api,
    users.map(({ kind, name, uses }) => workload(kind, namespace, name, { uses })),
  );
  const sources = new Set(users.flatMap(({ uses }) => uses));
  return [...sources].map((source) => ({
    source,
    workloads: users
      .filter(({ uses }) => uses.includes(source))
      .map(({ kind, name }) => workloadKey(kind, namespace, name)),
  }));
}

async function sharedBy(
  cluster: BenchCluster,
  namespace: string,
  kinds: readonly User['kind'][],
): Promise<ChangedSource[]> {
  const source = configMap(namespace, 'shared');
  await createSources(cluster, [source]);
  const users = kinds.map((kind, index): User => ({ kind, name: `app-${index}`, uses: [source] }));
  return await createUsers(cluster, namespace, users);
}

/** Changes what no pod sees. */
async function annotate(cluster: BenchCluster, { source }: ChangedSource) {
  const path = objectPath(source.kind, source.namespace, source.name);
  const patch = { metadata: { annotations: { 'bench/note': cluster.freshData()['value'] } } };
  const { at, text } = await cluster.api.call('PATCH', path, patch, 'application/merge-patch+json');
  const { metadata } = JSON.parse(text) as { readonly metadata: { readonly resourceVersion: string } };
  return { source: path, workloads: [], at, version: Number(metadata.resourceVersion) };
}

const LARGE = 'x'.repeat(100 * 1024);

const LOADS: readonly Load[] = [
  {
    id: 'burst',
    number: 'S1',
    title: '10 pairs, a random change every 100 ms',
    rhythm: { everyMs: 100 },
    setUp: (cluster) => pairs(cluster, 'bench-s1', 10),
  },
  {
    id: 'fanout-50',
    number: 'S2',
    title: '50 Deployments of one ConfigMap, a change every 5 s',
    rhythm: { everyMs: 5000 },
    setUp: (cluster) => sharedBy(cluster, 'bench-s2', new Array(50).fill('Deployment')),
  },
  {
    id: 'many-namespaces',
    number: 'S3',
    title: '220 pairs in 11 namespaces, a random change every 200 ms',
    rhythm: { everyMs: 200 },
    async setUp(cluster) {
      const all: ChangedSource[] = [];
      for (const index of numbers(11)) all.push(...(await pairs(cluster, `bench-s3-${index}`, 20)));
      return all;
    },
  },
  {
    id: 'no-op',
    number: 'S4',
    title: '10 pairs, only an annotation of a random ConfigMap every 100 ms',
    rhythm: { everyMs: 100 },
    setUp: (cluster) => pairs(cluster, 'bench-s4', 10),
    change: annotate,
  },
  {
    id: 'restart',
    number: 'S6',
    title: '20 pairs, a change every 200 ms, the controller is killed and started in the middle',
    rhythm: { everyMs: 200 },
    setUp: (cluster) => pairs(cluster, 'bench-s6', 20),
    settleMs: 30_000,
    async beside(cluster, { contender, program, seconds }) {
      await delay(seconds * 500);
      await cluster.stop(program, 'SIGKILL');
      return (await cluster.start(contender)) ?? program;
    },
  },
  {
    id: 'pressure',
    number: 'S7',
    title: '50 pairs, ten writers, each a random change every 100 ms',
    rhythm: { everyMs: 100, writers: 10 },
    setUp: (cluster) => pairs(cluster, 'bench-s7', 50),
  },
  {
    id: 'large-objects',
    number: 'S8',
    title: '10 pairs with 200 KiB of data each, a change every 2 s',
    rhythm: { everyMs: 2000 },
    setUp: (cluster) => pairs(cluster, 'bench-s8', 10),
    change: changeOf(({ value = '' }) => ({ one: `${LARGE}${value}`, two: LARGE })),
  },
  {
    id: 'kinds',
    number: 'S9',
    title: '5 Deployments, 3 StatefulSets, 2 DaemonSets of one ConfigMap, a change every 5 s',
    rhythm: { everyMs: 5000 },
    setUp: (cluster) =>
      sharedBy(cluster, 'bench-s9', [
        ...new Array<User['kind']>(5).fill('Deployment'),
        ...new Array<User['kind']>(3).fill('StatefulSet'),
        ...new Array<User['kind']>(2).fill('DaemonSet'),
      ]),
  },
  {
    id: 'secrets-mixed',
    number: 'S10',
    title: '5 Secrets and 5 ConfigMaps, 10 Deployments with one or both, a change every 500 ms',
    rhythm: { everyMs: 500 },
    async setUp(cluster) {
      const namespace = 'bench-s10';
      const secrets = numbers(5).map((index) => secret(namespace, `secret-${index}`));
      const maps = numbers(5).map((index) => configMap(namespace, `map-${index}`));
      await createSources(cluster, [...secrets, ...maps]);
      return await createUsers(cluster, namespace, [
        ...secrets.map((one, index): User => ({ kind: 'Deployment', name: `secret-${index}`, uses: [one] })),
        ...maps.slice(0, 3).map((one, index): User => ({ kind: 'Deployment', name: `map-${index}`, uses: [one] })),
        ...numbers(2).map(
          (index): User => ({
            kind: 'Deployment',
            name: `both-${index}`,
            uses: [...maps.slice(index, index + 1), ...secrets.slice(index, index + 1)],
          }),
        ),
      ]);
    },
  },
  {
    id: 'annotations',
    number: 'S11',
    title: '10 pairs, strategy annotations, a change every 500 ms',
    rhythm: { everyMs: 500 },
    flags: ['--reload-strategy=annotations'],
    setUp: (cluster) => pairs(cluster, 'bench-s11', 10),
  },
  {
    id: 'pause',
    number: 'S12',
    title: '10 pairs with a pause period of 15 s, a change every 2 s',
    rhythm: { everyMs: 2000 },
    seconds: 35,
    settleMs: 20_000,
    async setUp(cluster) {
      const namespace = await cluster.namespace('bench-s12');
      const sources = numbers(10).map((index) => configMap(namespace, `app-${index}`));
      await createSources(cluster, sources);
      const annotations = { ...AUTO, 'deployment.reloader.stakater.com/pause-period': '15s' };
      await createAll(
        cluster.api,
        sources.map((source) => workload('Deployment', namespace, source.name, { uses: [source], annotations })),
      );
      return sources.map((source) => ({
        source,
        workloads: [workloadKey('Deployment', namespace, source.name)],
      }));
    },
  },
  {
    id: 'references',
    number: 'S13',
    title: '5 Deployments that use two ConfigMaps each in every way, a change every 2 s',
    rhythm: { everyMs: 2000 },
    setUp: createReferences,
    change: changeOf(({ value = '' }) => ({ key1: value, key2: 'same', config: value })),
  },
  {
    id: 'no-match',
    number: 'S14',
    title: '500 Deployments that use other ConfigMaps than the one that changes every 100 ms',
    rhythm: { everyMs: 100 },
    async setUp(cluster) {
      await pairs(cluster, 'bench-s14', 500);
      const source = configMap('bench-s14', 'unused');
      await createSources(cluster, [source]);
      return [{ source, workloads: [] }];
    },
  },
];

async function createReferences(cluster: BenchCluster): Promise<readonly ChangedSource[]> {
  const namespace = 'bench-s13';
  const sources = numbers(5).map((index) => configMap(namespace, `map-${index}`));
  await createSources(cluster, sources);
  const deployments = numbers(5).map((index) => {
    const own = `map-${index}`;
    const other = `map-${(index + 1) % 5}`;
    const container = { image: 'busybox:1.27', command: ['sleep', '3600'] };
    const keyOf = (key: string) => ({ valueFrom: { configMapKeyRef: { name: own, key, optional: true } } });
    const part = (name: string) => ({ configMap: { name, items: [{ key: 'key1', path: name }], optional: true } });
    const podSpec = {
      initContainers: [{ ...container, name: 'init', envFrom: [{ configMapRef: { name: own } }] }],
      containers: [
        { ...container, name: 'app', env: ['key1', 'key2'].map((key) => ({ name: key.toUpperCase(), ...keyOf(key) })) },
        {
          ...container,
          name: 'sidecar',
          volumeMounts: [
            { name: 'own', mountPath: '/own' },
            { name: 'both', mountPath: '/both' },
          ],
        },
      ],
      volumes: [
        { name: 'own', configMap: { name: own } },
        { name: 'both', projected: { sources: [part(own), part(other)] } },
      ],
    };
    return workload('Deployment', namespace, `app-${index}`, { uses: [], podSpec });
  });
  await createAll(cluster.api, deployments);
  return sources.map((source, index) => ({
    source,
    workloads: [index, (index + 4) % 5].map((user) => workloadKey('Deployment', namespace, `app-${user}`)),
  }));
}

/** The set that upstream runs for each proposed change. */
const QUICK = ['S1', 'S4', 'S6'];

export const STAKATER: readonly Scenario[] = LOADS.map((load) =>
  loadScenario({ ...load, long: !QUICK.includes(load.number) }),
);
