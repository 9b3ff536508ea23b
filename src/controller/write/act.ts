import { CONFIG_HASH, RELOADED_AT } from '../../api/annotations.ts';
import { FIELD_MANAGER } from '../../api/field-manager.ts';
import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { Policy } from '../../domain/judge/verdict.ts';
import type { SourceId } from '../../domain/ledger/source-id.ts';
import type { NewJob } from '../../domain/outcome/outcome.ts';
import type { PatchPlan, ReplacePlan, RestartPlan, RunPlan, WritePlan } from '../../domain/plan/plan.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import { patchOf } from '../../domain/template/patch.ts';
import { formatTime } from '../../domain/text/rfc3339.ts';
import type { Workload } from '../../domain/workload/workload.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { Engine } from '../engine/engine.ts';
import type { EngineDeps } from '../engine/engine-deps.ts';
import { recordOf } from '../ledger/record.ts';
import type { Evictions, NotYet } from '../restart/evictions.ts';
import type { Jobs } from './jobs.ts';
import type { Replacements } from './replacements.ts';

/** What a write left in the cluster. */
export interface Written {
  /** The Job that there is now, where it takes one. */
  readonly job: NewJob | undefined;
  /** Its number in the ledger. */
  readonly seq: number;
  /** Whether a record on the object says everything. */
  readonly isRecorded: boolean;
  /** How many pods were evicted, where that was the way. */
  readonly evicted?: number | undefined;
}

/** It has begun, takes its time, and goes on by itself; nothing is done before `finished`. */
export interface UnderWay {
  readonly finished: Promise<Written>;
  /** Resolves when it takes longer than usual, with what may be the matter. */
  readonly late: Promise<KubeError>;
}

/** Carries a plan out. Throws what the API server refuses. */
export type Act = (state: WorkloadState, plan: WritePlan) => Promise<Written | UnderWay | NotYet>;

export interface ActDeps {
  readonly client: KubeClient;
  readonly policy: Policy;
  readonly keyId: string;
  readonly engine: Pick<Engine, 'seen' | 'runSeen'>;
  /** What is asked for workloads beside their own annotations. */
  readonly configs: EngineDeps['configs'];
  /** Whether this source's fingerprint may be stored at all. */
  readonly mayStore: (id: SourceId) => boolean;
  /** A short text that stands for a long one. */
  readonly shorten: (text: string) => string;
  readonly jobs: Jobs;
  readonly replacements: Pick<Replacements, 'replace'>;
  readonly evictions: Pick<Evictions, 'step'>;
  readonly parse: (kind: WorkloadKind, object: KubeObject) => Workload;
  /** The newest object, in the answer to a write. */
  readonly seen: (workload: Workload) => void;
}

const JOBS = kindNamed('Job') as WorkloadKind;

export function createAct(deps: ActDeps): Act {
  return (state, plan) => {
    switch (plan.do) {
      case 'run':
        return run(deps, state, plan);
      case 'replace':
        return replace(deps, state, plan);
      case 'evict':
        return deps.evictions.step(state, plan);
      default:
        return patch(deps, state, plan);
    }
  };
}

async function replace(deps: ActDeps, state: WorkloadState, plan: ReplacePlan): Promise<Written | UnderWay> {
  const { changes, edit, now } = plan;
  const seq = state.seq + 1;
  // The new Job is another object, of which neither record nor checkpoint know.
  const isCooled = changes.some(({ verdict }) => verdict.ask.overrides.cooldownMs !== undefined);
  const annotations = isCooled ? { [RELOADED_AT]: formatTime(now / 1000) } : {};
  const { finished, late } = await deps.replacements.replace(state, edit, annotations);
  if (!late) return withJob(seq, await finished);
  return { late, finished: finished.then((job) => withJob(seq, job)) };
}

const withJob = (seq: number, job: KubeObject | undefined): Written => ({
  job: job && { name: job.metadata.name, uid: job.metadata.uid },
  seq,
  isRecorded: false,
});

/** The Job is unknown where its name is all that is known of it. */
async function run(deps: ActDeps, state: WorkloadState, plan: RunPlan): Promise<Written> {
  const { changes, edit, now } = plan;
  const seq = state.seq + 1;
  // Where Jobs are not followed nobody would read it.
  const isRecorded = !deps.policy.compat && !deps.policy.ignoredKinds.has('Job');
  const record = isRecorded ? recordOf(deps, state, plan, edit).text : undefined;
  const { when, job } = await deps.jobs.run(state, changes, { edit, record });
  if (when === 'now') {
    const version = Number(job.metadata.resourceVersion);
    state.ran({ after: version, upTo: version });
    state.reloads.reloaded(Math.floor(now / 1000));
  }
  if (when === 'now' || !job) return withJob(seq, job);
  // It was started some time ago.
  deps.engine.runSeen(deps.parse(JOBS, job), undefined);
  if (changes.every(({ id, current }) => state.applied.get(id) === current)) return withJob(seq, job);
  throw new KubeError({
    verb: 'create',
    path: `jobs/${job.metadata.namespace}/${job.metadata.name}`,
    status: 409,
    reason: 'Conflict',
    detail: 'another leader ran the CronJob for something else meanwhile',
  });
}

async function patch(deps: ActDeps, state: WorkloadState, plan: PatchPlan | RestartPlan): Promise<Written> {
  const { workload } = state;
  const { changes, now } = plan;
  const kind = kindNamed(workload.ref.kind) as WorkloadKind;
  const edit = plan.do === 'patch' ? plan.edit : undefined;
  const record = deps.policy.compat ? undefined : recordOf(deps, state, plan, edit);
  const { type, body } = patchOf(kind, workload, edit, {
    ...(record?.text !== undefined && { record: record.text }),
    ...(plan.do === 'restart' && { restartAt: formatTime(now / 1000) }),
    ...(plan.do === 'patch' && plan.isPaused && { pause: { pausedAt: formatTime(now / 1000) } }),
    keys: deps.policy.keys,
  });
  const seq = state.seq + 1;
  state.writeBegan();
  let answer: KubeObject;
  try {
    answer = await deps.client.patch(kind, workload.ref, body, { type, fieldManager: FIELD_MANAGER });
  } catch (error) {
    state.writeEnded();
    throw error;
  }
  const hashBefore = workload.templateAnnotations[CONFIG_HASH];
  const second = Math.floor(now / 1000);
  state.writeAccepted(changes, edit && { changes, edit, second, hashBefore }, seq);
  state.reloads.reloaded(second);
  deps.seen(deps.parse(kind, answer));
  return { job: undefined, seq, isRecorded: record?.whole === true };
}
