import { listIn, objectAt } from '../../api/json.ts';
import type { WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { countIn } from './rollout.ts';

/** How far a rollout is, as the workload's own controller counts it. */
export interface Progress {
  readonly pods: number;
  /** Of them, those that are of the present template. */
  readonly updated: number;
}

/** Undefined: nobody counts, or not for the object as it stands. */
export function progressOf({ counts }: WorkloadKind, object: KubeObject): Progress | undefined {
  if (!counts || !isObserved(object)) return undefined;
  const status = objectAt(object, ['status']);
  return { pods: countIn(status[counts.pods]), updated: countIn(status[counts.updated]) };
}

/**
 * Why there are pods of an earlier template. `paused`: nothing is replaced before it is resumed. `on-delete`: a pod is
 * replaced when somebody deletes it. `partition`: some are kept on purpose. `unseen`: its controller has not seen the new
 * template yet. `rolling`: they are being replaced, or would be if the new ones became ready.
 */
export type Hold = 'paused' | 'on-delete' | 'partition' | 'unseen' | 'rolling';

export function holdOf(object: KubeObject): Hold {
  const spec = objectAt(object, ['spec']);
  const strategy = objectAt(spec, ['updateStrategy']);
  if (spec['paused'] === true || listIn(objectAt(object, ['status'])['pauseConditions']).length > 0) return 'paused';
  if (strategy['type'] === 'OnDelete') return 'on-delete';
  if (countIn(objectAt(strategy, ['rollingUpdate'])['partition']) > 0) return 'partition';
  return isObserved(object) ? 'rolling' : 'unseen';
}

/** Whether the status is about the object as it stands. A Rollout writes its number as a text. */
export function isObserved(object: KubeObject): boolean {
  return Number(objectAt(object, ['status'])['observedGeneration'] ?? -1) >= (object.metadata?.generation ?? 0);
}
