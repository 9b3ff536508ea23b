import type { KindName } from '../../../src/api/kinds.ts';
import { READY_LABEL } from '../../../src/sandbox/control-plane/stages.ts';
import { Audit } from '../../support/audit.ts';
import { RULES, type Stage, stage } from '../../support/controller.ts';
import { installKinds } from '../../support/crds.ts';
import { type AnyObject, ApiRefusal, api } from '../../support/sandbox.ts';
import { pathOf } from '../../support/workloads.ts';
import { configPath } from './config-world.ts';

/** What `attune.reloaderConfig.restart` adds in the chart. */
const RESTART_RULES = [
  { apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch'] },
  { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
  { apiGroups: ['apps'], resources: ['replicasets'], verbs: ['list'] },
];

export interface Pods {
  readonly kind?: KindName;
  readonly replicas?: number;
  /** They become ready when the test says so, and not by themselves. */
  readonly byHand?: boolean;
  readonly spec?: object;
}

/** A namespace whose workloads have pods, and are restarted by ReloaderConfigs. */
export interface RestartWorld extends Stage {
  readonly audit: Audit;
  /** A workload with its pods, a ConfigMap of the same name that it uses, and a config that restarts it. */
  deploy(name: string, pods?: Pods): Promise<void>;
  budget(name: string, app: string, minAvailable: number): Promise<unknown>;
  setData(name: string, value: string): Promise<unknown>;
  /** Those that nobody has deleted. */
  alive(name: string): readonly AnyObject[];
  /** Makes all that are alive ready, where that is done by hand. */
  makeReady(name: string): Promise<void>;
  /** The names of pods in the order in which they were evicted. */
  evicted(name: string): readonly string[];
  /** The fewest pods that were ready at a time, since all of them were. */
  fewestReady(name: string, all: number): number;
}

export async function restartWorld({ rights = true } = {}): Promise<RestartWorld> {
  await installKinds(['ReloaderConfig']);
  const set = await stage({ rules: [...RULES, ...(rights ? RESTART_RULES : [])] });
  const { space } = set;
  const admin = api();
  const audit = await Audit.of(space, ['Pod', 'Deployment', 'StatefulSet', 'DaemonSet']);
  const isOf = (name: string) => (pod: AnyObject) => pod.metadata.labels?.['app'] === name;
  const alive = (name: string) => audit.all('Pod').filter(isOf(name)).filter(isAlive);
  const makeReady = async (name: string): Promise<void> => {
    const unready = alive(name).filter((pod) => pod.metadata.labels?.[READY_LABEL] === 'false');
    const labels = { [READY_LABEL]: 'true' };
    await Promise.all(
      unready.map((pod) =>
        admin
          .patch(`/api/v1/namespaces/${space}/pods/${pod.metadata.name}`, { metadata: { labels } })
          .catch(unlessGone),
      ),
    );
  };
  return {
    ...set,
    ...{ audit, alive, makeReady },
    async deploy(name, { kind = 'Deployment', replicas = 3, byHand = false, spec = {} } = {}) {
      const labels = { app: name, ...(byHand && { [READY_LABEL]: 'false' }) };
      const containers = [{ name: 'app', image: 'app', envFrom: [{ configMapRef: { name } }] }];
      await admin.create(pathOf('ConfigMap', space), { metadata: { name }, data: { value: 'a' } });
      await admin.create(pathOf(kind, space), {
        metadata: { name },
        spec: {
          ...(kind !== 'DaemonSet' && { replicas }),
          ...(kind === 'StatefulSet' && { serviceName: 'none', podManagementPolicy: 'Parallel' }),
          selector: { matchLabels: { app: name } },
          template: { metadata: { labels }, spec: { containers, terminationGracePeriodSeconds: 0 } },
          ...spec,
        },
      });
      await admin.create(configPath(space), {
        ...{ apiVersion: 'reloader.stakater.com/v1alpha1', kind: 'ReloaderConfig' },
        metadata: { name },
        spec: {
          watchedResources: { configMaps: [name] },
          targets: [{ kind, name }],
          rolloutStrategy: 'restart',
        },
      });
      const wanted = kind === 'DaemonSet' ? (await admin.list('/api/v1/nodes')).length : replicas;
      await audit.until(`pods of ${name}`, () => alive(name).length >= wanted);
      await makeReady(name);
      await audit.until(`${name} ready`, () => alive(name).filter(isReady).length >= wanted);
    },
    budget: (name, app, minAvailable) =>
      admin.create(`/apis/policy/v1/namespaces/${space}/poddisruptionbudgets`, {
        metadata: { name },
        spec: { minAvailable, selector: { matchLabels: { app } } },
      }),
    setData: (name, value) => admin.patch(pathOf('ConfigMap', space, name), { data: { value } }),
    evicted: (name) => deletedIn(audit, isOf(name)),
    fewestReady: (name, all) => fewest(podVersions(audit, isOf(name)), all),
    async [Symbol.asyncDispose]() {
      await audit[Symbol.asyncDispose]();
      await set[Symbol.asyncDispose]();
    },
  };
}

/** It was evicted in the very moment. */
function unlessGone(error: unknown): void {
  if (!(error instanceof ApiRefusal && error.status === 404)) throw error;
}

const isAlive = (pod: AnyObject): boolean => pod.metadata.deletionTimestamp === undefined;

export const isReady = (pod: AnyObject): boolean => {
  const conditions = (pod['status'].conditions ?? []) as readonly { readonly type: string; readonly status: string }[];
  return isAlive(pod) && conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
};

/** Pods that were deleted, in the server's order. Nobody does that here but who evicts them. */
function deletedIn(audit: Audit, isMeant: (pod: AnyObject) => boolean): readonly string[] {
  const deleted = audit
    .every('Pod')
    .filter(({ type, object }) => isMeant(object) && (type === 'DELETED' || !isAlive(object)))
    .sort((one, other) => Number(one.object.metadata.resourceVersion) - Number(other.object.metadata.resourceVersion));
  return [...new Set(deleted.map(({ object }) => object.metadata.name))];
}

interface Version {
  readonly name: string;
  readonly at: number;
  readonly isReady: boolean;
}

/** Every version of every pod, in the order of the server. */
function podVersions(audit: Audit, isMeant: (pod: AnyObject) => boolean): readonly Version[] {
  return audit
    .every('Pod')
    .filter(({ object }) => isMeant(object))
    .map(({ type, object }) => ({
      name: object.metadata.name,
      at: Number(object.metadata.resourceVersion),
      isReady: type !== 'DELETED' && isReady(object),
    }))
    .sort((one, other) => one.at - other.at);
}

function fewest(versions: readonly Version[], all: number): number {
  const ready = new Set<string>();
  let least = Number.POSITIVE_INFINITY;
  let isBegun = false;
  for (const version of versions) {
    if (version.isReady) ready.add(version.name);
    else ready.delete(version.name);
    isBegun ||= ready.size === all;
    if (isBegun) least = Math.min(least, ready.size);
  }
  return least;
}
