import { objectAt, objectIn } from '../../api/json.ts';
import type { KindName, WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';

/**
 * Tells one rollout of a workload from another: the number that its controller counts, or the generation of its spec, which
 * moves with a scale as well.
 */
export function revisionOf(kind: WorkloadKind, { metadata }: KubeObject): string {
  const counted = kind.revision === undefined ? undefined : metadata?.annotations?.[kind.revision];
  return counted === undefined ? `g${metadata?.generation ?? 0}` : `r${counted}`;
}

/** What it will be after one more change of the template, or of nothing but the spec beside it. */
export function nextRevision(revision: string, isTemplate: boolean): string {
  if (!isTemplate && revision.startsWith('r')) return revision;
  return `${revision.slice(0, 1)}${Number(revision.slice(1)) + 1}`;
}

/** What it will be when its controller has seen the object as it stands, at most: the count follows a moment later. */
export function revisionAhead(kind: WorkloadKind, object: KubeObject): string {
  const revision = revisionOf(kind, object);
  return revision.startsWith('r') && !isObserved(object) ? nextRevision(revision, true) : revision;
}

/** What it was before a change of the template. */
export const revisionBefore = (revision: string): string => `${revision.slice(0, 1)}${Number(revision.slice(1)) - 1}`;

/** Before there was a template at all. */
export const firstRevision = (revision: string): string => `${revision.slice(0, 1)}0`;

/** Whether no more than one change lies between: then there was no template in between that could have come back. */
export const isNext = (before: string, now: string): boolean => now === before || nextRevision(before, true) === now;

/** Whether a kind tells when every pod is of the present template. */
export const tellsRollout = (kind: KindName): boolean =>
  kind === 'Deployment' || kind === 'StatefulSet' || kind === 'DaemonSet';

/** Whether every pod is of the present template. Where nothing is known about it, it is taken for granted. */
export function isRolledOut(kind: WorkloadKind, object: KubeObject): boolean {
  const { spec, status: given } = object as { readonly spec?: unknown; readonly status?: unknown };
  const wanted = countIn(objectIn(spec), 'replicas', 1);
  const status = objectIn(given);
  if (given === undefined) return true;
  switch (kind.kind) {
    case 'Deployment':
      return (
        isObserved(object) &&
        countIn(status, 'updatedReplicas') === wanted &&
        countIn(status, 'replicas') === wanted &&
        countIn(status, 'availableReplicas') === wanted
      );
    case 'StatefulSet':
      return (
        isObserved(object) &&
        status['currentRevision'] === status['updateRevision'] &&
        countIn(status, 'readyReplicas') === wanted
      );
    case 'DaemonSet': {
      const desired = countIn(status, 'desiredNumberScheduled');
      const updated = countIn(status, 'updatedNumberScheduled');
      return isObserved(object) && updated === desired && countIn(status, 'numberAvailable') === desired;
    }
    default:
      return true;
  }
}

function isObserved(object: KubeObject): boolean {
  return countIn(objectAt(object, ['status']), 'observedGeneration') >= (object.metadata?.generation ?? 0);
}

function countIn(object: Readonly<Record<string, unknown>>, member: string, otherwise = 0): number {
  const count = object[member];
  return typeof count === 'number' ? count : otherwise;
}
