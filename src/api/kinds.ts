import type { Resource } from './resources.ts';

/**
 * How a change reaches a workload of this kind.
 *
 * `patch`: the pod template is patched, and the kind's own controller replaces the pods.
 * `run`: a Job is created from the template (CronJob).
 * `replace`: the object is deleted and created anew (Job, whose template is immutable).
 */
export type Effect = 'patch' | 'run' | 'replace';

export interface WorkloadKind extends Resource {
  readonly kind: KindName;
  readonly templatePath: readonly string[];
  readonly effect: Effect;
  /** Custom resources refuse a strategic merge patch, and a JSON merge patch would replace the whole list of containers. */
  readonly patch: 'strategic' | 'json';
  /** The annotation in which the kind's own controller counts rollouts. */
  readonly revision?: string;
  /** The fields of the status that count all pods, and those of the current template. */
  readonly counts?: { readonly pods: string; readonly updated: string };
}

export type KindName = 'Deployment' | 'CronJob' | 'Job' | 'DaemonSet' | 'StatefulSet' | 'Rollout' | 'DeploymentConfig';

const REPLICAS = { pods: 'replicas', updated: 'updatedReplicas' };

/** What most kinds have in common; a row says what is different. */
const COMMON = {
  version: 'v1',
  namespaced: true,
  templatePath: ['spec', 'template'],
  effect: 'patch',
  patch: 'strategic',
} as const;

/** One row per workload kind, in the order in which Stakater Reloader goes through them. A new kind is a new row. */
export const WORKLOAD_KINDS: readonly WorkloadKind[] = [
  {
    ...COMMON,
    kind: 'Deployment',
    group: 'apps',
    plural: 'deployments',
    revision: 'deployment.kubernetes.io/revision',
    counts: REPLICAS,
  },
  {
    ...COMMON,
    kind: 'CronJob',
    group: 'batch',
    plural: 'cronjobs',
    templatePath: ['spec', 'jobTemplate', 'spec', 'template'],
    effect: 'run',
  },
  { ...COMMON, kind: 'Job', group: 'batch', plural: 'jobs', effect: 'replace' },
  {
    ...COMMON,
    kind: 'DaemonSet',
    group: 'apps',
    plural: 'daemonsets',
    counts: { pods: 'currentNumberScheduled', updated: 'updatedNumberScheduled' },
  },
  { ...COMMON, kind: 'StatefulSet', group: 'apps', plural: 'statefulsets', counts: REPLICAS },
  {
    ...COMMON,
    kind: 'Rollout',
    group: 'argoproj.io',
    version: 'v1alpha1',
    plural: 'rollouts',
    patch: 'json',
    revision: 'rollout.argoproj.io/revision',
    counts: REPLICAS,
  },
  {
    ...COMMON,
    kind: 'DeploymentConfig',
    group: 'apps.openshift.io',
    plural: 'deploymentconfigs',
    patch: 'json',
    counts: REPLICAS,
  },
];

export function kindNamed(name: string): WorkloadKind | undefined {
  return WORKLOAD_KINDS.find((row) => row.kind === name);
}
