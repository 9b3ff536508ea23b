import { objectAt } from '../../api/json.ts';
import type { WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { holdOf, isObserved } from './progress.ts';
import { countIn, isRolledOut } from './rollout.ts';

/** Whether a workload can spare a pod. */
export interface Availability {
  /** How many pods there are to be. */
  readonly wanted: number;
  /** Its own controller says that so many are available, and none is being replaced. */
  readonly isComplete: boolean;
  /** A pod counts when it has been ready for so long. */
  readonly minReadyMs: number;
  /** How long a pod may take to be replaced before that counts as failed. */
  readonly deadlineMs: number;
}

// As Kubernetes has it for Deployments that do not say.
const DEADLINE_S = 600;
/** Pods of an earlier template are there on purpose, and stay. */
const ON_PURPOSE = new Set(['paused', 'on-delete', 'partition']);

export function availabilityOf(kind: WorkloadKind, object: KubeObject): Availability {
  const spec = objectAt(object, ['spec']);
  const status = objectAt(object, ['status']);
  const isDaemonSet = kind.kind === 'DaemonSet';
  const wanted = isDaemonSet ? countIn(status['desiredNumberScheduled']) : countIn(spec['replicas'], 1);
  // Before Kubernetes 1.22 a StatefulSet counted none.
  const counted = kind.kind === 'StatefulSet' ? status['readyReplicas'] : 0;
  const available = isDaemonSet ? status['numberAvailable'] : (status['availableReplicas'] ?? counted);
  const isSettled = ON_PURPOSE.has(holdOf(object)) || isRolledOut(kind, object);
  return {
    wanted,
    isComplete: isObserved(object) && countIn(available) >= wanted && isSettled,
    minReadyMs: countIn(spec['minReadySeconds']) * 1000,
    deadlineMs: countIn(spec['progressDeadlineSeconds'], DEADLINE_S) * 1000,
  };
}
