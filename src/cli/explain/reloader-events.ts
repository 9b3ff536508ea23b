import { OUTCOME, RECORD, SOURCES } from '../../api/annotations.ts';
import { FIELD_MANAGER } from '../../api/field-manager.ts';
import { listIn, objectAt, objectIn, textIn } from '../../api/json.ts';
import type { KubeObject } from '../../api/objects.ts';
import { EVENTS } from '../../api/resources.ts';
import type { SourceRef } from '../../api/sources.ts';
import { isCarried } from '../../controller/report/render/source-list.ts';
import { readRecord } from '../../domain/ledger/record.ts';
import type { Outcome } from '../../domain/outcome/outcome.ts';
import { formatTime } from '../../domain/text/rfc3339.ts';
import type { KubeClient } from '../../kube/client.ts';
import { listAll } from '../../model/list-all.ts';

/** An Event that a reloader left on a workload. */
export interface ReloaderEvent {
  readonly at: string;
  /** Times are whole seconds; within one, the server's count tells the order. */
  readonly version: number;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  /** What happened, if it says so: Events of other reloaders do not. */
  readonly outcome?: string | undefined;
  /** All sources that it is about. */
  readonly sources?: string | undefined;
}

const MAX_SHOWN = 5;
const UNDELIVERED: Outcome['is'] = 'undelivered';
/** After each of these it is known whether the pods of a workload have the data of a source. */
const DELIVERY: readonly Outcome['is'][] = ['rolled', 'replaced', 'reverted', UNDELIVERED];

/**
 * When a reloader last wrote to this object, to the second. The server keeps it, until somebody writes the whole object; the
 * record, which admission puts back then, keeps it too.
 */
export function lastWriteOf(object: KubeObject): string | undefined {
  const record = readRecord(object.metadata.annotations?.[RECORD]);
  const recorded = record?.uid === object.metadata.uid && record.at !== undefined ? [formatTime(record.at)] : [];
  const times = listIn(objectAt(object, ['metadata'])['managedFields'])
    .map(objectIn)
    .filter(({ manager }) => manager === FIELD_MANAGER)
    .map(({ time }) => textIn(time));
  return [...recorded, ...times].sort().at(-1) || undefined;
}

/** Oldest first; none where Events may not be read. */
export async function reloaderEvents(client: KubeClient, { metadata }: KubeObject): Promise<readonly ReloaderEvent[]> {
  const { namespace, uid } = metadata;
  const objects = (await listAll(client, EVENTS, { namespace, fieldSelector: `involvedObject.uid=${uid}` })) ?? [];
  const events = objects.flatMap(asReloaderEvent);
  return events.sort((a, b) => a.at.localeCompare(b.at) || a.version - b.version);
}

/** As many as are worth showing. */
export const newestOf = (events: readonly ReloaderEvent[]): readonly ReloaderEvent[] =>
  events.slice(-MAX_SHOWN).map(({ sources: _, outcome: _is, ...event }) => event);

/**
 * Whether the last word about a source is that another writer keeps undoing the rollout; `namespace` is the workload's. What an
 * Event says of so many that it could not name them all is believed where it is bad news only: a change that may be lost
 * has to be seen.
 */
export function isUndelivered(events: readonly ReloaderEvent[], ref: SourceRef, namespace = ref.namespace): boolean {
  const last = events.findLast(({ outcome, sources = '' }) => {
    if (!DELIVERY.some((is) => is === outcome)) return false;
    const isAbout = isCarried(sources, ref, namespace);
    return isAbout === 'yes' || (isAbout === 'perhaps' && outcome === UNDELIVERED);
  });
  return last?.outcome === UNDELIVERED;
}

function asReloaderEvent(event: KubeObject): readonly ReloaderEvent[] {
  const { source, type, reason, message, lastTimestamp, eventTime } = objectIn(event);
  if (!textIn(objectIn(source)['component']).startsWith('reloader')) return [];
  const at = textIn(lastTimestamp) || textIn(eventTime);
  const version = Number(event.metadata.resourceVersion) || 0;
  const { [OUTCOME]: outcome, [SOURCES]: sources } = event.metadata.annotations ?? {};
  return [{ at, version, type: textIn(type), reason: textIn(reason), message: textIn(message), outcome, sources }];
}
