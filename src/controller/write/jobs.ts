import { RECORD } from '../../api/annotations.ts';
import { FIELD_MANAGER } from '../../api/field-manager.ts';
import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { Change } from '../../domain/outcome/change.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import { jobFromCronJob } from '../../domain/template/job.ts';
import type { TemplateEdit } from '../../domain/template/template-edit.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { ActDeps } from './act.ts';

export interface JobContent {
  readonly edit: TemplateEdit | undefined;
  /** Written to the Job, because the CronJob is not written to. */
  readonly record: string | undefined;
}

/** `before`: a Job of this name existed already; undefined where it has no record to be read. */
export type Started =
  | { readonly when: 'now'; readonly job: KubeObject }
  | { readonly when: 'before'; readonly job: KubeObject | undefined };

const JOBS = kindNamed('Job') as WorkloadKind;
const CRON_JOBS = kindNamed('CronJob') as WorkloadKind;
// A CronJob's name has 52 characters at most, which leaves 11 of a Job's 63 for a suffix and its hyphen.
const SUFFIX = 10;

/** Starts Jobs from the templates of CronJobs. */
export function createJobs({ client, shorten }: Pick<ActDeps, 'client' | 'shorten'>) {
  return {
    /** Starts one Job for these changes, however often it is called. */
    async run(state: WorkloadState, changes: readonly Change[], { edit, record }: JobContent): Promise<Started> {
      const { ref, uid } = state.workload;
      const { namespace } = ref;
      const cronJob = await client.get<KubeObject>(CRON_JOBS, ref);
      // The name has the number of the run, so that only one of two replicas that decided on the same state can start it.
      // Without a record the name also has to say what it was started for.
      const answers = record === undefined ? changes.map(({ id, current }) => `${id}=${current}`).sort() : [];
      const suffix = shorten([uid, state.seq, ...answers].join(' ')).slice(0, SUFFIX);
      const name = `${ref.name.slice(0, 52)}-${suffix}`;
      const annotations = record === undefined ? {} : { [RECORD]: record };
      const manifest = jobFromCronJob(cronJob, edit, { name, annotations });
      try {
        const job = await client.create<KubeObject>(JOBS, namespace, manifest, { fieldManager: FIELD_MANAGER });
        return { when: 'now', job };
      } catch (error) {
        // The name is made of what it is for, so the one that exists is ours.
        if (!KubeError.is(error, 'AlreadyExists')) throw error;
      }
      if (record === undefined) return { when: 'before', job: undefined };
      return { when: 'before', job: await client.get<KubeObject>(JOBS, { namespace, name }) };
    },
  };
}

export type Jobs = ReturnType<typeof createJobs>;
