import type { KubeObject } from '../../api/objects.ts';
import { ALLOW_DANGEROUS, FENCED_INSTANCES } from '../../api/redis-cluster/annotations.ts';

interface Entry {
  readonly credentials?: { readonly id?: unknown; readonly phase?: unknown };
  readonly tls?: { readonly trusted?: unknown; readonly signedBy?: unknown; readonly phase?: unknown };
}

interface RawCluster extends KubeObject {
  readonly spec?: unknown;
  readonly status?: { readonly currentPrimary?: unknown; readonly instancesStatus?: Readonly<Record<string, Entry>> };
}

/**
 * All of a RedisCluster that makes a pass necessary, as a text to compare. Of the entries of other pods only how far a
 * rotation is: every pod writes its offset there all the time, and each would wake all others.
 */
export function wakingPart(object: KubeObject, pod: string): string {
  const { metadata, spec, status } = object as RawCluster;
  const { annotations = {} } = metadata;
  const others = Object.entries(status?.instancesStatus ?? {}).filter(([name]) => name !== pod);
  return JSON.stringify([
    metadata.uid,
    metadata.deletionTimestamp,
    annotations[FENCED_INSTANCES],
    annotations[ALLOW_DANGEROUS],
    spec,
    status?.currentPrimary,
    others
      .map(([name, entry]) => [name, entry?.credentials?.id, entry?.credentials?.phase, ...trustOf(entry)])
      .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
  ]);
}

const trustOf = (entry: Entry | undefined): readonly unknown[] => [
  entry?.tls?.trusted,
  entry?.tls?.signedBy,
  entry?.tls?.phase,
];
