import type { InstanceEntry } from './cluster-view.ts';

/** The fields of an entry that its own pod writes; all others belong to somebody else. */
export const OWN_FIELDS = [
  'role',
  'connected',
  'replicationOffset',
  'connectedReplicas',
  'masterLinkStatus',
  'state',
  'message',
  'keys',
  'observedGeneration',
  'config',
  'credentials',
  'acl',
  'tls',
] as const satisfies readonly (keyof InstanceEntry)[];

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json | undefined };

/** The fields of an entry that its pod writes, as they are on the server. */
export function ownPart(entry: InstanceEntry): InstanceEntry {
  return Object.fromEntries(OWN_FIELDS.map((field) => [field, entry[field]]));
}

/** The body of the merge patch that makes `after` of `before`; undefined where they are equal. */
export function statusPatch(pod: string, before: InstanceEntry, after: InstanceEntry): object | undefined {
  const change = mergePatch(before as Json, after as Json);
  return change === undefined ? undefined : { status: { instancesStatus: { [pod]: change } } };
}

/** RFC 7396: what is gone becomes null, objects are merged, lists are replaced. Undefined: nothing changes. */
function mergePatch(before: Json | undefined, after: Json | undefined): Json | undefined {
  if (after === undefined) return before === undefined ? undefined : null;
  if (!isObject(after)) return JSON.stringify(after) === JSON.stringify(before) ? undefined : after;
  const old = isObject(before) ? before : {};
  const names = new Set([...Object.keys(old), ...Object.keys(after)]);
  const changes = [...names].flatMap((name) => {
    const change = mergePatch(old[name], after[name]);
    return change === undefined ? [] : [[name, change] as const];
  });
  if (changes.length === 0 && isObject(before)) return undefined;
  return Object.fromEntries(changes);
}

const isObject = (value: Json | undefined): value is { readonly [key: string]: Json | undefined } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * What a pod says while its Redis does not answer. How much it held stays: by that others know that there is data which
 * a primary without any would destroy. So does what was applied, until it can be looked at again.
 */
export function awayEntry(
  { keys, replicationOffset, config, credentials, acl, tls }: InstanceEntry,
  now: Pick<InstanceEntry, 'state' | 'message' | 'observedGeneration'>,
): InstanceEntry {
  return { keys, replicationOffset, config, credentials, acl, tls, ...now, connected: false };
}

/** What moves all the time; everything else is a transition, which others want to know at once. */
const MOVING: readonly (keyof InstanceEntry)[] = ['replicationOffset', 'keys'];

/** The entry without what moves all the time, as a text to compare. */
export const settledPart = (entry: InstanceEntry): string =>
  JSON.stringify(OWN_FIELDS.filter((field) => !MOVING.includes(field)).map((field) => entry[field]));
