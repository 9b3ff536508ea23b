import type { Resource } from './resources.ts';

/**
 * How a change reaches a workload of this kind.
 *
 * `patch`: the pod template is edited and the kind's own controller rolls.
 * `run`: a Job is created from the template (CronJob).
 * `replace`: the object is deleted and created anew (Job, whose template is immutable).
 */
export type Effect = 'patch' | 'run' | 'replace';

export interface WorkloadKind extends Resource {
  readonly kind: KindName;
  readonly templatePath: readonly string[];
  readonly effect: Effect;
  /** Strategic merge is refused for custom resources, and a plain merge patch would replace all containers. */
  readonly patch: 'strategic' | 'json';
  /** Annotation in which the kind's own controller counts its rollouts. */
  readonly revision?: string;
  /** Where in its status the kind's own controller counts pods, and those of the present template. */
  readonly counts?: { readonly pods: string; readonly updated: string };
}

const REPLICAS = { pods: 'replicas', updated: 'updatedReplicas' };

export type KindName = 'Deployment' | 'CronJob' | 'Job' | 'DaemonSet' | 'StatefulSet' | 'Rollout' | 'DeploymentConfig';

/** One row per workload kind, in the order in which upstream walks them. A new kind is a new row. */
export const WORKLOAD_KINDS: readonly WorkloadKind[] = [
  {
    kind: 'Deployment',
    group: 'apps',
    version: 'v1',
    plural: 'deployments',
    namespaced: true,
    templatePath: ['spec', 'template'],
    effect: 'patch',
    patch: 'strategic',
    revision: 'deployment.kubernetes.io/revision',
    counts: REPLICAS,
  },
  {
    kind: 'CronJob',
    group: 'batch',
    version: 'v1',
    plural: 'cronjobs',
    namespaced: true,
    templatePath: ['spec', 'jobTemplate', 'spec', 'template'],
    effect: 'run',
    patch: 'strategic',
  },
  {
    kind: 'Job',
    group: 'batch',
    version: 'v1',
    plural: 'jobs',
    namespaced: true,
    templatePath: ['spec', 'template'],
    effect: 'replace',
    patch: 'strategic',
  },
  {
    kind: 'DaemonSet',
    group: 'apps',
    version: 'v1',
    plural: 'daemonsets',
    namespaced: true,
    templatePath: ['spec', 'template'],
    effect: 'patch',
    patch: 'strategic',
    counts: { pods: 'currentNumberScheduled', updated: 'updatedNumberScheduled' },
  },
  {
    kind: 'StatefulSet',
    group: 'apps',
    version: 'v1',
    plural: 'statefulsets',
    namespaced: true,
    templatePath: ['spec', 'template'],
    effect: 'patch',
    patch: 'strategic',
    counts: REPLICAS,
  },
  {
    kind: 'Rollout',
    group: 'argoproj.io',
    version: 'v1alpha1',
    plural: 'rollouts',
    namespaced: true,
    templatePath: ['spec', 'template'],
    effect: 'patch',
    patch: 'json',
    revision: 'rollout.argoproj.io/revision',
    counts: REPLICAS,
  },
  {
    kind: 'DeploymentConfig',
    group: 'apps.openshift.io',
    version: 'v1',
    plural: 'deploymentconfigs',
    namespaced: true,
    templatePath: ['spec', 'template'],
    effect: 'patch',
    patch: 'json',
    counts: REPLICAS,
  },
];

export function kindNamed(name: string): WorkloadKind | undefined {
  return WORKLOAD_KINDS.find((row) => row.kind === name);
}
