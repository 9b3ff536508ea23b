import { DEFAULT_KEYS } from '../../src/api/annotations.ts';
import { kindNamed, type WorkloadKind } from '../../src/api/kinds.ts';
import type { KubeObject } from '../../src/api/objects.ts';
import type { SourceRef } from '../../src/api/sources.ts';
import { Engine } from '../../src/controller/engine/engine.ts';
import type { EngineDeps } from '../../src/controller/engine/engine-deps.ts';
import { ExpressionBudget } from '../../src/domain/asks/expression-budget.ts';
import { NameBudget } from '../../src/domain/asks/name-budget.ts';
import type { Source } from '../../src/domain/source/source.ts';
import type { StateRules } from '../../src/domain/state/source-past.ts';
import { WorkloadState } from '../../src/domain/state/workload-state.ts';
import { parseWorkload } from '../../src/domain/workload/parse-workload.ts';
import type { Workload, WorkloadKey } from '../../src/domain/workload/workload.ts';
import { createConfigHash } from '../../src/model/config-hash.ts';
import type { CheckpointEntry } from '../../src/model/ledger/shard.ts';
import { ReverseIndex } from '../../src/model/reverse-index.ts';
import { SourceHistory } from '../../src/model/sources/source-history.ts';
import { createDigest } from '../../src/runtime/digest.ts';
import { policyOf } from '../conformance/given.ts';
import { virtualClock } from './virtual-clock.ts';

export const DIGEST = createDigest(new Uint8Array(32));
const { text: digest } = DIGEST;
export const DEPLOYMENT = kindNamed('Deployment') as WorkloadKind;
export const WEB: WorkloadKey = 'Deployment/shop/web';
export const APP: SourceRef = { kind: 'ConfigMap', namespace: 'shop', name: 'app' };

/** Of a workload that was found by a listing. */
export const stateOf = (workload: Workload): WorkloadState => new WorkloadState(workload, rulesOf(new SourceHistory()));

export const rulesOf = (sources: SourceHistory, sapCompat = false): StateRules => ({
  ...{ compat: false, sapCompat, sharedVersions: () => true, lendsTemplate: () => false, sources },
  configHash: createConfigHash({ sources, contentHash: sapCompat ? undefined : DIGEST, isAbsent: () => true }).certain,
});

export const markOf = (data: string): string => data.toLowerCase().padEnd(40, '0');

export const source = (data: string, version: number, ref = APP): Source => ({
  ref,
  uid: ref.name,
  resourceVersion: String(version),
  fingerprint: { exact: data, mark: markOf(data) },
  ignored: false,
  matchable: false,
  labels: {},
});

export interface Look {
  readonly uid?: string;
  readonly annotations?: Record<string, string>;
  readonly labels?: Record<string, string>;
  readonly image?: string;
  readonly mark?: string;
  readonly replicas?: number;
  readonly revision?: number;
  readonly templateAnnotations?: Record<string, string>;
  /** Whether its controller has made all pods of this template; undefined: nobody says. */
  readonly rolledOut?: boolean;
}

export const web = (version: number, look: Look = {}): Workload => parsed(webObject(version, look));

export const parsed = (object: KubeObject, sapCompat = false): Workload =>
  parseWorkload(DEPLOYMENT, object, { keys: DEFAULT_KEYS, compat: false, sapCompat, digest });

/** The same as the server sends it. */
export function webObject(version: number, look: Look = {}) {
  const {
    uid = 'w',
    annotations = {},
    labels = {},
    image = 'v1',
    mark,
    replicas = 1,
    revision = 1,
    templateAnnotations = {},
    rolledOut,
  } = look;
  const env = mark ? [{ name: 'STAKATER_APP_CONFIGMAP', value: markOf(mark) }] : [];
  return {
    metadata: {
      name: 'web',
      namespace: 'shop',
      uid,
      resourceVersion: String(version),
      generation: revision,
      creationTimestamp: '2026-01-01T10:00:05Z',
      labels,
      annotations: {
        'reloader.stakater.com/auto': 'true',
        'deployment.kubernetes.io/revision': String(revision),
        ...annotations,
      },
    },
    spec: {
      replicas,
      template: {
        metadata: { annotations: templateAnnotations },
        spec: { containers: [{ name: 'app', image, env, envFrom: [{ configMapRef: { name: 'app' } }] }] },
      },
    },
    ...(rolledOut !== undefined && { status: statusOf(revision, replicas, rolledOut) }),
  };
}

const statusOf = (revision: number, replicas: number, isRolledOut: boolean) => ({
  observedGeneration: revision,
  replicas,
  updatedReplicas: isRolledOut ? replicas : 0,
  availableReplicas: replicas,
});

export interface Options {
  readonly entry?: CheckpointEntry;
  readonly aliveAt?: number;
  readonly seen?: CheckpointEntry['seen'];
  readonly create?: boolean;
  readonly remove?: boolean;
}

export function setUp(options: Partial<EngineDeps> & Options = {}) {
  const clock = virtualClock();
  const scheduled = new Map<WorkloadKey, number>();
  const wanted: SourceRef[] = [];
  const told: string[] = [];
  const sources = new SourceHistory();
  const index = new ReverseIndex();
  const policy = options.policy ?? policyOf();
  const engine = new Engine({
    policy,
    configs: { asksFor: () => [], askedFrom: () => 0, expressions: new ExpressionBudget(), names: new NameBudget() },
    lifecycle: { compat: false, reloadOnCreate: options.create ?? false, reloadOnDelete: options.remove ?? false },
    timing: { quietPeriodMs: 1000, maxWaitMs: 10_000 },
    configHash: rulesOf(sources, policy.sapCompat).configHash,
    keyId: 'k',
    clock,
    serverNow: () => clock.wall(),
    sources,
    index,
    queue: {
      schedule: (key, at) => void scheduled.set(key, at),
      release: () => false,
      remove: (key) => void scheduled.delete(key),
    },
    checkpoint: {
      believable: options.entry !== undefined || options.aliveAt !== undefined,
      aliveAt: () => options.aliveAt ?? 0,
      seenOf: (kind) => options.seen?.[kind],
      entry: () => options.entry,
      touch: () => {},
      completed: () => {},
      gone: () => {},
    },
    sharedVersions: () => true,
    inScope: () => true,
    listed: { has: () => true, places: 0 },
    want: (ref) => void wanted.push(ref),
    report: {
      sourceChanged: () => {},
      tell: ({ is }) => void told.push(is),
      forget: () => {},
      queued: () => {},
    },
    ...options,
  });
  const state = () => {
    const found = engine.states.get(WEB);
    if (!found) throw new Error('the workload is not known');
    return found;
  };
  return {
    clock,
    policy,
    engine,
    sources,
    index,
    scheduled,
    wanted,
    told,
    state,
    waits: () => [...state().waiting.keys()],
    put: (next: Source, born = false) =>
      engine.sourceChanged(next.ref, sources.put(next, born), Number(next.resourceVersion)),
    remove: (ref: SourceRef, version: number) => engine.sourceChanged(ref, sources.remove(ref, version), version),
    /** As if reconcile had written: the marks are on the template, the ledger knows. */
    wrote(data: string, version: number, look: Look = {}) {
      const { workload, seq } = state();
      const verdict = engine.verdicts.of(workload, APP);
      if (!verdict.reload) throw new Error(verdict.rule);
      const ids = { id: 'ConfigMap/app', ref: APP } as const;
      const changes = [
        { ...ids, verdict, difference: 'changed', current: data, since: sources.since(APP), mark: markOf(data) },
      ] as const;
      const edit = { env: [], annotations: {}, jsonPatch: false };
      state().writeBegan();
      state().writeAccepted(changes, { changes, edit, second: 0 }, seq);
      engine.workloadSeen(web(version, { ...look, mark: data }), 'write');
      engine.settled(state(), changes, seq, true);
    },
  };
}

/** A workload and its source, listed, nothing changed. */
export function running(options: Parameters<typeof setUp>[0] = {}) {
  const world = setUp(options);
  world.sources.put(source('A', 5), false);
  world.engine.workloadSeen(web(3), 'list');
  world.engine.begin();
  return world;
}
