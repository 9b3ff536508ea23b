import { type JsonObject, objectAt, objectIn } from '../../api/json.ts';
import type { KindName, WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';

const COUNT = /^\d{1,15}$/;

/**
 * Tells one rollout of a workload from another: the number that its controller counts, or the generation of its spec, which
 * changes with a scale as well.
 */
export function revisionOf(kind: WorkloadKind, { metadata }: KubeObject): string {
  const counted = kind.revision === undefined ? undefined : metadata?.annotations?.[kind.revision];
  // Whoever may annotate a workload may write anything there, of any length.
  return counted !== undefined && COUNT.test(counted) ? `r${counted}` : `g${metadata?.generation ?? 0}`;
}

/** The revision after one more change, of the template or only of the spec beside it. */
export function nextRevision(revision: string, isTemplate: boolean): string {
  if (!isTemplate && revision.startsWith('r')) return revision;
  return `${revision.slice(0, 1)}${Number(revision.slice(1)) + 1}`;
}

/** The highest that the revision can be for the object as it stands: its controller counts a moment later. */
export function revisionAhead(kind: WorkloadKind, object: KubeObject): string {
  const revision = revisionOf(kind, object);
  return revision.startsWith('r') && !isObserved(object) ? nextRevision(revision, true) : revision;
}

/** The revision before a change of the template. */
export const revisionBefore = (revision: string): string => `${revision.slice(0, 1)}${Number(revision.slice(1)) - 1}`;

/** The revision before there was a template at all. */
export const firstRevision = (revision: string): string => `${revision.slice(0, 1)}0`;

/** Whether there was at most one change: with two, an earlier template could have come back. */
export const isNext = (before: string, now: string): boolean => now === before || nextRevision(before, true) === now;

/** By kind, whether the status says that every pod is of the present template. */
const ROLLED_OUT: Readonly<Partial<Record<KindName, (status: JsonObject, wanted: number) => boolean>>> = {
  Deployment: (status, wanted) =>
    countIn(status['updatedReplicas']) === wanted &&
    countIn(status['replicas']) === wanted &&
    countIn(status['availableReplicas']) === wanted,
  StatefulSet: (status, wanted) =>
    status['currentRevision'] === status['updateRevision'] && countIn(status['readyReplicas']) === wanted,
  DaemonSet: (status) => {
    const desired = countIn(status['desiredNumberScheduled']);
    return countIn(status['updatedNumberScheduled']) === desired && countIn(status['numberAvailable']) === desired;
  },
};

/** Whether the status of this kind tells when every pod is of the present template. */
export const tellsRollout = (kind: KindName): boolean => ROLLED_OUT[kind] !== undefined;

/** Whether every pod is of the present template. Where nothing is known about it, it is taken for granted. */
export function isRolledOut({ kind }: WorkloadKind, object: KubeObject): boolean {
  const { spec, status } = object as { readonly spec?: unknown; readonly status?: unknown };
  const isComplete = ROLLED_OUT[kind];
  if (status === undefined || isComplete === undefined) return true;
  const { replicas, paused } = objectIn(spec);
  const wanted = countIn(replicas, 1);
  // While it is paused there are no pods of the new template, and a scale brings more of the old one.
  if (paused === true && wanted === 0) return false;
  return isObserved(object) && isComplete(objectIn(status), wanted);
}

function isObserved(object: KubeObject): boolean {
  return countIn(objectAt(object, ['status'])['observedGeneration']) >= (object.metadata?.generation ?? 0);
}

export const countIn = (value: unknown, otherwise = 0): number => (typeof value === 'number' ? value : otherwise);
