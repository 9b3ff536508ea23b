import type { KubeObject } from '../../api/objects.ts';
import { ALLOW_DANGEROUS } from '../../api/redis-cluster/annotations.ts';
import { parseDuration } from '../text/duration.ts';
import { parseQuantity } from '../text/quantity.ts';
import type { ClusterView, InstanceEntry, Isolation, Problem, ReplicaMode } from './cluster-view.ts';
import { REDIS_PORT } from './role.ts';

type Fields = Readonly<Record<string, unknown>>;

const MODES = ['standalone', 'sentinel', 'cluster'] as const;
const OVERLAP_MS = 300_000;
const ISOLATION_MS = 5000;
// Nobody waits longer to learn whether a primary is cut off, and timers of Node end at 24 days.
const MOST_ISOLATION_MS = 24 * 3_600_000;

/** Reads a RedisCluster. Where a field is wrong it is left out and told; the API server lets few of these through. */
export function parseCluster(object: KubeObject): ClusterView {
  const { metadata } = object;
  const problems: Problem[] = [];
  const spec = new Reader(fieldsOf((object as { readonly spec?: unknown }).spec), 'spec', problems);
  const status = fieldsOf((object as { readonly status?: unknown }).status);
  return {
    name: metadata.name,
    namespace: metadata.namespace ?? '',
    uid: metadata.uid,
    generation: metadata.generation ?? 0,
    mode: spec.oneOf('mode', MODES) ?? 'standalone',
    redis: redisOf(spec),
    memory: memoryOf(spec),
    authSecret: spec.object('authSecret')?.text('name'),
    aclSecret: spec.object('aclConfigSecret')?.text('name'),
    rotationKeySecret: spec.object('rotationKeySecret')?.text('name'),
    tls: tlsOf(spec),
    replicaMode: replicaModeOf(spec),
    overlapMs: spec.duration('authOverlap') ?? OVERLAP_MS,
    isolation: isolationOf(spec.object('primaryIsolation')),
    allowDangerous: wordsIn(metadata.annotations?.[ALLOW_DANGEROUS]),
    currentPrimary: typeof status['currentPrimary'] === 'string' ? status['currentPrimary'] : '',
    instances: new Map(
      Object.entries(fieldsOf(status['instancesStatus'])).map(([pod, entry]) => [
        pod,
        fieldsOf(entry) as InstanceEntry,
      ]),
    ),
    problems,
  };
}

function redisOf(spec: Reader): ClusterView['redis'] {
  const entries = Object.entries(spec.object('redis')?.fields ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return new Map(
    entries.flatMap(([key, value]): (readonly [string, string])[] => {
      if (typeof value === 'string') return [[key, value]];
      spec.wrong(`redis.${key}`, 'a string: put the value in quotes');
      return [];
    }),
  );
}

function memoryOf(spec: Reader): ClusterView['memory'] {
  const memory = spec.object('memory');
  if (!memory) return { bytes: undefined, policy: undefined };
  const policy = memory.text('maxMemoryPolicy');
  const wanted = memory.quantity('maxMemory');
  const percent = memory.whole('maxMemoryPercent', 1, 100);
  if (wanted !== undefined || percent === undefined) return { bytes: wanted, policy };
  const limit = spec.object('resources')?.object('limits')?.quantity('memory');
  if (limit === undefined) memory.wrong('maxMemoryPercent', 'used together with spec.resources.limits.memory');
  return { bytes: limit === undefined ? undefined : Math.floor((limit * percent) / 100), policy };
}

function tlsOf(spec: Reader): boolean {
  const leaf = spec.object('tlsSecret')?.text('name');
  const authority = spec.object('caSecret')?.text('name');
  if ((leaf === undefined) !== (authority === undefined))
    spec.wrong(leaf === undefined ? 'tlsSecret' : 'caSecret', 'set too: tlsSecret and caSecret go together');
  return leaf !== undefined && authority !== undefined;
}

function replicaModeOf(spec: Reader): ReplicaMode | undefined {
  const mode = spec.object('replicaMode');
  if (mode?.flag('enabled') !== true) return undefined;
  const source = mode.object('source');
  const host = source?.text('host')?.trim() ?? '';
  if (host === '') spec.wrong('replicaMode.source.host', 'the host to replicate from');
  return {
    promote: mode.flag('promote') ?? false,
    host,
    port: source?.whole('port', 1, 65_535) ?? REDIS_PORT,
    authSecret: source?.text('authSecretName'),
  };
}

function isolationOf(isolation: Reader | undefined): Isolation {
  const timeout = (name: string): number =>
    Math.ceil(Math.min(isolation?.duration(name) ?? ISOLATION_MS, MOST_ISOLATION_MS));
  return {
    enabled: isolation?.flag('enabled') ?? true,
    apiServerTimeoutMs: timeout('apiServerTimeout'),
    peerTimeoutMs: timeout('peerTimeout'),
  };
}

const wordsIn = (list: string | undefined): ReadonlySet<string> =>
  new Set((list ?? '').split(',').flatMap((word) => word.trim().toLowerCase() || []));

/** Reads the fields of an object, and tells what is wrong with each. */
class Reader {
  readonly fields: Fields;
  readonly #path: string;
  readonly #problems: Problem[];

  constructor(fields: Fields, path: string, problems: Problem[]) {
    this.fields = fields;
    this.#path = path;
    this.#problems = problems;
  }

  wrong(field: string, must: string): undefined {
    this.#problems.push({ where: `${this.#path}.${field}`, what: `must be ${must}` });
  }

  object(field: string): Reader | undefined {
    const value = this.fields[field];
    if (value === undefined || value === null) return undefined;
    if (typeof value !== 'object' || Array.isArray(value)) return this.wrong(field, 'an object');
    return new Reader(value as Fields, `${this.#path}.${field}`, this.#problems);
  }

  /** Empty is as good as missing. */
  text(field: string): string | undefined {
    const value = this.fields[field];
    if (value === undefined || value === null || value === '') return undefined;
    return typeof value === 'string' ? value : this.wrong(field, 'a string');
  }

  flag(field: string): boolean | undefined {
    const value = this.fields[field];
    if (value === undefined || value === null) return undefined;
    return typeof value === 'boolean' ? value : this.wrong(field, 'true or false');
  }

  whole(field: string, least: number, most: number): number | undefined {
    const value = this.fields[field];
    if (value === undefined || value === null) return undefined;
    const isRight = typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most;
    return isRight ? value : this.wrong(field, `a whole number from ${least} to ${most}`);
  }

  oneOf<const T extends string>(field: string, words: readonly T[]): T | undefined {
    const value = this.text(field);
    return value === undefined
      ? undefined
      : (words.find((word) => word === value) ?? this.wrong(field, words.join(', ')));
  }

  duration(field: string): number | undefined {
    const value = this.text(field);
    if (value === undefined) return undefined;
    const ms = parseDuration(value);
    return ms !== undefined && ms >= 0 ? ms : this.wrong(field, 'a duration like 5m or 30s');
  }

  quantity(field: string): number | undefined {
    const value = this.fields[field];
    if (value === undefined || value === null) return undefined;
    const bytes = parseQuantity(String(value));
    const isRight = bytes !== undefined && bytes >= 1 && bytes <= Number.MAX_SAFE_INTEGER;
    return isRight ? Math.floor(bytes) : this.wrong(field, 'an amount of memory above zero, like 256Mi');
  }
}

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
