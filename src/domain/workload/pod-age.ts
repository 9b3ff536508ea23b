import { listIn, objectAt, objectIn, textIn } from '../../api/json.ts';
import type { KubeObject } from '../../api/objects.ts';
import { parseTime } from '../text/rfc3339.ts';

/** How many pods began before a moment. */
export interface Ages {
  readonly total: number;
  readonly older: number;
  /** They began in the same second, and times have no fractions. */
  readonly unclear: number;
}

export function agesOf(beganAtMs: readonly number[], momentMs: number): Ages {
  const second = Math.floor(momentMs / 1000);
  const seconds = beganAtMs.map((ms) => Math.floor(ms / 1000));
  return {
    total: seconds.length,
    older: seconds.filter((each) => each < second).length,
    unclear: seconds.filter((each) => each === second).length,
  };
}

/** Whether a pod runs, and is not about to end. */
export function isRunning(pod: KubeObject): boolean {
  const { phase } = objectAt(pod, ['status']);
  return pod.metadata.deletionTimestamp === undefined && phase !== 'Succeeded' && phase !== 'Failed';
}

/**
 * The moment, in milliseconds, before which a pod cannot have read its data: when it was given a node. That is by the
 * server's clock; later moments are by the node's. Infinity for a pod that has no node yet.
 */
export function beganAt(pod: KubeObject): number {
  if (textIn(objectAt(pod, ['spec'])['nodeName']) === '') return Number.POSITIVE_INFINITY;
  const scheduled = listIn(objectAt(pod, ['status'])['conditions'])
    .map(objectIn)
    .find(({ type, status }) => type === 'PodScheduled' && status === 'True');
  const time = parseTime(textIn(scheduled?.['lastTransitionTime'])) ?? parseTime(pod.metadata.creationTimestamp ?? '');
  return time === undefined ? Number.NEGATIVE_INFINITY : time * 1000;
}
