import { canonicalText, type JsonObject, listIn, objectIn, textIn } from '../../api/json.ts';
import type { ConfigCondition, ReloaderConfigStatus } from '../../api/reloader-config/status-fields.ts';

/** Conditions of ours. Others may add their own, which are none of our business. */
const OURS = ['Available', 'Progressing', 'Degraded'];

/** What a status says, as a text: equal for two of which neither has to be written over the other. */
export function statusText(status: unknown): string {
  const { conditions, ...rest } = objectIn(status) as Record<string, unknown>;
  const ours = OURS.map((type) => listIn(conditions).find((each) => objectIn(each)['type'] === type));
  return canonicalText({ ...rest, conditions: ours });
}

/** The conditions in a status that may hold anything. */
export function conditionsIn(status: unknown): readonly ConfigCondition[] {
  return listIn(objectIn(status)['conditions']).map((each) => {
    const { type, status: is, lastTransitionTime, reason, message } = objectIn(each) as Record<string, unknown>;
    return {
      ...{ type: textIn(type), status: textIn(is), lastTransitionTime: textIn(lastTransitionTime) },
      ...{ reason: textIn(reason), message: textIn(message) },
    };
  });
}

/** The keys of hashes that a status has and that are not ours. */
export function foreignHashes(status: unknown, ours: ReloaderConfigStatus): readonly string[] {
  const hashes = Object.keys(objectIn(objectIn(status)['watchedResourceHashes']));
  return hashes.filter((key) => !Object.hasOwn(ours.watchedResourceHashes ?? {}, key));
}

/** Without the fields that an older definition does not have: their paths begin with `status.`, `[]` stands for any element. */
export function withoutFields(status: ReloaderConfigStatus, paths: readonly string[]): ReloaderConfigStatus {
  const inStatus = paths.flatMap((path) => (path.startsWith('status.') ? [path.split('.').slice(1)] : []));
  return inStatus.reduce((left, path) => without(left, path), objectIn(status)) as ReloaderConfigStatus;
}

function without(object: JsonObject, [first = '', ...rest]: readonly string[]): JsonObject {
  const member = first.replace(/\[\]$/, '');
  const { [member]: inner, ...others } = object;
  if (inner === undefined || rest.length === 0) return others;
  const left = Array.isArray(inner)
    ? inner.map((each: unknown) => without(objectIn(each), rest))
    : without(objectIn(inner), rest);
  return { ...others, [member]: left };
}
