import { RECORD } from '../../api/annotations.ts';
import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { Change } from '../../domain/outcome/change.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import { jobFromCronJob } from '../../domain/template/job.ts';
import type { TemplateEdit } from '../../domain/template/template-edit.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';

/** Starts Jobs from the templates of CronJobs. */
export interface Jobs {
  /** Starts one Job for these changes, however often it is called. */
  run(state: WorkloadState, changes: readonly Change[], content: JobContent): Promise<Started>;
}

export interface JobContent {
  readonly edit: TemplateEdit | undefined;
  /** Written to the Job, because the CronJob is not written to. */
  readonly record: string | undefined;
}

/** `before`: a Job of this name existed already; undefined where it has no record to be read. */
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
// A CronJob's name has 52 characters at most, which leaves 11 of a Job's 63 for a suffix and its hyphen.
const SUFFIX = 10;

export function createJobs(deps: JobsDeps): Jobs {
  return {
    async run(state, changes, { edit, record }) {
      const { ref, uid } = state.workload;
      const cronJob = await deps.client.get<KubeObject>(CRON_JOBS, ref);
      // The name has the number of the run, so that only one of two replicas that decided on the same state can start it.
      // Without a record the name also has to say what it was started for.
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

/** Undefined if it exists. The name is made of what it is for, so that one is ours. */
async function createOnce(deps: JobsDeps, namespace: string, manifest: unknown): Promise<KubeObject | undefined> {
  try {
    return await deps.client.create<KubeObject>(JOBS, namespace, manifest, { fieldManager: deps.fieldManager });
  } catch (error) {
    if (!KubeError.is(error, 'AlreadyExists')) throw error;
    return undefined;
  }
}
