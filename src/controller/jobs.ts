import { RECORD } from '../api/annotations.ts';
import { kindNamed, type WorkloadKind } from '../api/kinds.ts';
import type { KubeObject } from '../api/objects.ts';
import { jobFromCronJob, replacementJob } from '../domain/job.ts';
import type { TemplateEdit } from '../domain/template-edit.ts';
import type { WorkloadRef } from '../domain/workload.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/kube-error.ts';
import { pause } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Change } from './act.ts';
import type { Replacement, ReplacementJournal } from './replacement-journal.ts';
import type { WorkloadState } from './workload-state.ts';

/** Kinds that a patch cannot bring to run again. */
export interface Jobs {
  /** Starts a Job from a CronJob, once, however often it is called. */
  run(state: WorkloadState, changes: readonly Change[], run: RunOf): Promise<Started>;
  /** Deletes a Job and creates it anew. */
  replace(state: WorkloadState, edit: TemplateEdit): Promise<void>;
  /** Finishes replacements that an earlier process began. */
  resume(): Promise<void>;
}

export interface RunOf {
  readonly edit: TemplateEdit | undefined;
  /** Rides on the Job: the CronJob is not written to. */
  readonly record: string | undefined;
}

/** `before`: a Job of this name exists. Without a record it is known by its name, and that is all. */
export type Started =
  | { readonly when: 'now'; readonly job: KubeObject }
  | { readonly when: 'before'; readonly job: KubeObject | undefined };

export interface JobsDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly journal: ReplacementJournal;
  readonly shorten: (text: string) => string;
  readonly fieldManager: string;
  readonly signal: AbortSignal;
}

const JOBS = kindNamed('Job') as WorkloadKind;
const CRON_JOBS = kindNamed('CronJob') as WorkloadKind;
// A CronJob's name may have 52 characters, so that with a suffix of 11 a Job's 63 are kept; we need no more than that.
const SUFFIX = 10;
// How long a deleted Job may take to disappear: its pods' finalizers go first.
const POLL_MS = 100;
const GONE_WITHIN_MS = 60_000;

export function createJobs(deps: JobsDeps): Jobs {
  return {
    async run(state, changes, { edit, record }) {
      const { ref, uid } = state.workload;
      const cronJob = await deps.client.get<KubeObject>(CRON_JOBS, ref);
      // The number of the run is in the name, so that of two who decided on the same state only one can start it. Where
      // no record says what it was started for, the name has to.
      const answers = record === undefined ? changes.map(({ id, current }) => `${id}=${current}`).sort() : [];
      const suffix = deps.shorten([uid, state.seq, ...answers].join(' ')).slice(0, SUFFIX);
      const name = `${ref.name.slice(0, 52)}-${suffix}`;
      const annotations = record === undefined ? {} : { [RECORD]: record };
      const created = await createOnce(deps, ref.namespace, jobFromCronJob(cronJob, edit, { name, annotations }));
      if (created) return { when: 'now', job: created };
      if (record === undefined) return { when: 'before', job: undefined };
      return { when: 'before', job: await deps.client.get<KubeObject>(JOBS, { namespace: ref.namespace, name }) };
    },
    async replace(state, edit) {
      const job = await deps.client.get<KubeObject>(JOBS, state.workload.ref);
      const manifest = replacementJob(job, edit);
      await proveAdmission(deps, state.workload.ref, manifest);
      await carryOut(deps, await deps.journal.begin(job.metadata.uid, state.workload.ref, manifest));
    },
    async resume() {
      for (const replacement of await deps.journal.open()) await carryOut(deps, replacement);
    },
  };
}

/** The name says what it answers, so one that exists already is ours. */
async function createOnce(deps: JobsDeps, namespace: string, manifest: unknown): Promise<KubeObject | undefined> {
  try {
    return await deps.client.create<KubeObject>(JOBS, namespace, manifest, { fieldManager: deps.fieldManager });
  } catch (error) {
    if (!KubeError.is(error, 'AlreadyExists')) throw error;
    return undefined;
  }
}

/**
 * A Job that nobody would admit must not be deleted. The server checks everything before it notices that the name is
 * taken, so that answer is the proof.
 */
async function proveAdmission(deps: JobsDeps, ref: WorkloadRef, manifest: unknown): Promise<void> {
  try {
    await deps.client.create(JOBS, ref.namespace, manifest, { fieldManager: deps.fieldManager, dryRun: true });
  } catch (error) {
    if (!KubeError.is(error, 'AlreadyExists')) throw error;
  }
}

async function carryOut(deps: JobsDeps, replacement: Replacement): Promise<void> {
  const { ref, uid, manifest } = replacement;
  try {
    await deps.client.delete(JOBS, ref, { uid, propagation: 'Background' });
  } catch (error) {
    // Gone, or already another one: what remains is to see that there is one.
    if (!KubeError.is(error) || (error.status !== 404 && error.status !== 409)) throw error;
  }
  const deadline = deps.clock.now() + GONE_WITHIN_MS;
  for (;;) {
    const present = await find(deps, ref);
    if (present === undefined) {
      await createOnce(deps, ref.namespace, manifest);
      break;
    }
    if (present.metadata.uid !== uid) break;
    if (deps.clock.now() > deadline) throw stillThere(ref);
    await pause(deps.clock, POLL_MS, deps.signal);
  }
  await deps.journal.close(replacement);
}

async function find(deps: JobsDeps, ref: WorkloadRef): Promise<KubeObject | undefined> {
  try {
    return await deps.client.get<KubeObject>(JOBS, ref);
  } catch (error) {
    if (KubeError.is(error) && error.status === 404) return undefined;
    throw error;
  }
}

function stillThere(ref: WorkloadRef): KubeError {
  return new KubeError({
    verb: 'delete',
    path: `jobs/${ref.namespace}/${ref.name}`,
    status: 408,
    reason: 'Timeout',
    detail: 'the deleted Job is still there: does one of its finalizers never go?',
  });
}
