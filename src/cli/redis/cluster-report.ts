import { type JsonObject, objectIn, textIn } from '../../api/json.ts';
import type { KubeObject } from '../../api/objects.ts';
import { FENCED_INSTANCES } from '../../api/redis-cluster/annotations.ts';
import type { ClusterView, Problem } from '../../domain/redis/cluster-view.ts';
import { mayBeSecret } from '../../domain/redis/config/secret-keys.ts';
import { fenceOf } from '../../domain/redis/fence.ts';
import { parseCluster } from '../../domain/redis/parse-cluster.ts';

/** What a RedisCluster says; `-o json` prints it as it is. */
export interface ClusterReport {
  readonly namespace: string;
  readonly name: string;
  readonly generation: number;
  readonly mode: ClusterView['mode'];
  /** '': nobody has said who it is. */
  readonly primary: string;
  readonly replicaMode: { readonly from: string; readonly promote: boolean } | undefined;
  /** Null, so that JSON has it too: the annotation cannot be read, so that what was decided before stays. */
  readonly fenced: readonly string[] | null;
  /** What is wrong with the object itself. */
  readonly problems: readonly Problem[];
  readonly pods: readonly PodReport[];
}

export interface PodReport {
  readonly name: string;
  /** False: the pod is gone, and its entry is old. Undefined: this user may not look. */
  readonly exists: boolean | undefined;
  /** False: named by somebody, but it has said nothing yet. */
  readonly hasReported: boolean;
  readonly isPrimary: boolean;
  readonly isFenced: boolean;
  readonly role: string;
  readonly connected: boolean;
  readonly link: string;
  readonly replicas: number | undefined;
  readonly offset: number | undefined;
  /** Bytes to the primary, as both have last said: not at the same moment. */
  readonly lag: number | undefined;
  readonly keys: number | undefined;
  readonly state: string;
  readonly message: string;
  /** Whether what it says is about an older version of the object. */
  readonly isBehind: boolean;
  /** How many keys of the configuration are in effect. */
  readonly applied: number;
  readonly refused: readonly KeyReport[];
  readonly restart: readonly KeyReport[];
  readonly credentials: PhaseReport | undefined;
  readonly acl: PhaseReport | undefined;
  readonly tls: (PhaseReport & { readonly notAfter: string }) | undefined;
}

export interface KeyReport {
  readonly key: string;
  /** As spec.redis says; '' where it says nothing, and for what may be a password. */
  readonly wanted: string;
  /** In effect, as Redis reads it back. */
  readonly value: string;
  readonly message: string;
}

export interface PhaseReport {
  /** Applied, Refused, Waiting; '' where there is none. */
  readonly state: string;
  readonly phase: string;
  /** RFC 3339, or ''. */
  readonly since: string;
  readonly message: string;
}

/** `exists` says of a pod whether there is one of this name; undefined: it is not known. */
export function clusterReport(object: KubeObject, exists: (pod: string) => boolean | undefined): ClusterReport {
  const cluster = parseCluster(object);
  const { namespace, name, generation, mode, currentPrimary, replicaMode, instances, problems } = cluster;
  const annotation = object.metadata.annotations?.[FENCED_INSTANCES];
  const names = podsIn(object);
  const primary = numberIn(objectIn(instances.get(currentPrimary))['replicationOffset']);
  const pods = names.map((pod) => {
    const entry = instances.get(pod);
    const report = podReport(pod, objectIn(entry), cluster, replicaMode ? undefined : primary);
    return {
      ...report,
      exists: exists(pod),
      hasReported: entry !== undefined,
      isPrimary: pod === currentPrimary,
      isFenced: fenceOf(annotation, pod) === 'fenced',
    };
  });
  return {
    namespace,
    name,
    generation,
    mode,
    primary: currentPrimary,
    replicaMode: replicaMode && {
      from: `${replicaMode.host}:${replicaMode.port}`,
      promote: replicaMode.promote,
    },
    fenced:
      fenceOf(annotation, '') === 'unreadable' ? null : pods.filter(({ isFenced }) => isFenced).map((pod) => pod.name),
    problems: problems.map(({ where, what }) => ({ where, what })),
    pods,
  };
}

/** The pods that have an entry, and the one that is to be primary. */
export function podsIn(object: KubeObject): readonly string[] {
  const { instances, currentPrimary } = parseCluster(object);
  const names = new Set([...instances.keys(), ...(currentPrimary === '' ? [] : [currentPrimary])]);
  return [...names].toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));
}

type FromEntry = Omit<PodReport, 'exists' | 'hasReported' | 'isPrimary' | 'isFenced'>;

/** Entries may have been written by somebody else: of each field it is looked what it is. */
function podReport(
  name: string,
  entry: JsonObject,
  { generation, redis }: ClusterView,
  primary: number | undefined,
): FromEntry {
  const offset = numberIn(entry['replicationOffset']);
  const role = textIn(entry['role']);
  const isFollowing = role === 'slave' && offset !== undefined && primary !== undefined;
  const observed = numberIn(entry['observedGeneration']);
  const keys = Object.entries(objectIn(entry['config'])).map(([key, value]) => keyReport(key, objectIn(value), redis));
  const tls = phaseReport(entry['tls']);
  return {
    name,
    role,
    connected: entry['connected'] === true,
    link: textIn(entry['masterLinkStatus']),
    replicas: numberIn(entry['connectedReplicas']),
    offset,
    lag: isFollowing ? Math.max(0, primary - offset) : undefined,
    keys: numberIn(entry['keys']),
    state: textIn(entry['state']),
    message: textIn(entry['message']),
    isBehind: observed !== undefined && observed < generation,
    applied: keys.filter(({ state }) => state === 'Applied').length,
    refused: keys.filter(({ state }) => state === 'Refused').map(withoutState),
    restart: keys.filter(({ state }) => state === 'RestartNeeded').map(withoutState),
    credentials: phaseReport(entry['credentials']),
    acl: phaseReport(entry['acl']),
    tls: tls && { ...tls, notAfter: textIn(objectIn(entry['tls'])['notAfter']) },
  };
}

const keyReport = (key: string, entry: JsonObject, redis: ClusterView['redis']) => ({
  key,
  wanted: mayBeSecret(key) ? '' : (redis.get(key) ?? ''),
  state: textIn(entry['state']),
  value: textIn(entry['value']),
  message: textIn(entry['message']),
});

const withoutState = ({ key, wanted, value, message }: KeyReport): KeyReport => ({ key, wanted, value, message });

function phaseReport(value: unknown): PhaseReport | undefined {
  if (value === undefined || value === null) return undefined;
  const { state, phase, since, message } = objectIn(value);
  return { state: textIn(state), phase: textIn(phase), since: textIn(since), message: textIn(message) };
}

const numberIn = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** Whether all is as it should be. What waits for a restart, or for others, is. */
export const isFine = ({ problems, fenced, pods }: ClusterReport): boolean =>
  problems.length === 0 && fenced !== null && pods.length > 0 && pods.every((pod) => wrongWith(pod).length === 0);

/** What is wrong with a pod, in a word each; an old entry is judged by nobody. */
export function wrongWith(pod: PodReport): readonly string[] {
  if (pod.exists === false) return pod.isPrimary ? ['the primary is gone'] : [];
  if (!pod.hasReported) return ['has not reported'];
  if (pod.isFenced) return [];
  return [
    ...(pod.state !== '' && pod.state !== 'Running' ? [pod.state] : []),
    ...(pod.connected ? [] : ['not connected']),
    ...(pod.link === 'down' ? ['link down'] : []),
    ...(pod.refused.length > 0 ? [`${pod.refused.length} refused`] : []),
    ...(pod.acl?.state === 'Refused' ? ['ACL refused'] : []),
    ...(pod.tls?.state === 'Refused' ? ['TLS refused'] : []),
  ];
}
