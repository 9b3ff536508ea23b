import { listIn, objectAt, objectIn, textIn } from '../../api/json.ts';
import type { KubeObject } from '../../api/objects.ts';
import { parseTime } from '../text/rfc3339.ts';
import { isRunning } from './pod-age.ts';

/** A pod, reduced to what evictions need to know. */
export interface Pod {
  readonly name: string;
  readonly uid: string;
  /** The uid of the object that made it; '' if nobody did. */
  readonly maker: string;
  /** Its containers have ended, whether it succeeded or failed. */
  readonly hasEnded: boolean;
  /** It has not ended, and nobody has deleted it. */
  readonly isRunning: boolean;
  /** Second since which it is ready, by the clock of its node; undefined: it is not. */
  readonly readySince: number | undefined;
}

export function parsePod(object: KubeObject): Pod {
  const { phase, conditions } = objectAt(object, ['status']);
  const ready = listIn(conditions)
    .map(objectIn)
    .find(({ type, status }) => type === 'Ready' && status === 'True');
  return {
    name: object.metadata.name,
    uid: object.metadata.uid,
    maker: textIn(controllerOf(object)['uid']),
    hasEnded: phase === 'Succeeded' || phase === 'Failed',
    isRunning: isRunning(object),
    readySince: ready && (parseTime(textIn(ready['lastTransitionTime'])) ?? 0),
  };
}

/** Who made an object, as its reference says; empty if nobody did. */
export function controllerOf(object: KubeObject): Readonly<Record<string, unknown>> {
  const owners = listIn(objectIn(object.metadata)['ownerReferences']).map(objectIn);
  return owners.find(({ controller }) => controller === true) ?? {};
}
