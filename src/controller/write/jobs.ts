import { RECORD } from '../../api/annotations.ts';
import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { Change } from '../../domain/outcome/change.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import { jobFromCronJob } from '../../domain/template/job.ts';
import type { TemplateEdit } from '../../domain/template/template-edit.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';

/** Starts Jobs from CronJobs. */
export interface Jobs {
  /** Once, however often it is called. */
  run(state: WorkloadState, changes: readonly Change[], run: RunOf): Promise<Started>;
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
  readonly shorten: (text: string) => string;
  readonly fieldManager: string;
}

const JOBS = kindNamed('Job') as WorkloadKind;
const CRON_JOBS = kindNamed('CronJob') as WorkloadKind;
// A CronJob's name may have 52 characters, so that with a suffix of 11 a Job's 63 are kept; we need no more than that.
const SUFFIX = 10;

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
