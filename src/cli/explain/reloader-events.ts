import { SOURCES } from '../../api/annotations.ts';
import { listIn, objectAt, objectIn, textIn } from '../../api/json.ts';
import type { KubeObject } from '../../api/objects.ts';
import { EVENTS } from '../../api/resources.ts';
import { SOURCE_TYPE, type SourceRef } from '../../api/sources.ts';
import { isCarried } from '../../controller/report/render/source-list.ts';
import { FIELD_MANAGER } from '../../controller/write/act.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';

/** An Event that a reloader left on a workload. */
export interface ReloaderEvent {
  readonly at: string;
  /** Times are whole seconds; within one, the server's count tells the order. */
  readonly version: number;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  /** All that it is about, where these are several. */
  readonly sources?: string | undefined;
}

const MAX_TRACES = 5;
const REVERTED = 'ReloadReverted';

/** When a reloader last wrote to this object; the server keeps it, to the second. */
export function lastWriteOf(object: KubeObject): string | undefined {
  const times = listIn(objectAt(object, ['metadata'])['managedFields'])
    .map(objectIn)
    .filter(({ manager }) => manager === FIELD_MANAGER)
    .map(({ time }) => textIn(time))
    .sort();
  return times.at(-1) || undefined;
}

/** Oldest first; none where Events may not be read. */
export async function reloaderEvents(client: KubeClient, { metadata }: KubeObject): Promise<readonly ReloaderEvent[]> {
  const { namespace, uid } = metadata;
  const traces: ReloaderEvent[] = [];
  try {
    for await (const page of client.list(EVENTS, { namespace, fieldSelector: `involvedObject.uid=${uid}` })) {
      traces.push(...page.items.flatMap(asReloaderEvent));
    }
  } catch (error) {
    if (!KubeError.is(error, 'Forbidden')) throw error;
  }
  return traces.sort((a, b) => a.at.localeCompare(b.at) || a.version - b.version);
}

/** As many as are worth showing. */
export const newestOf = (traces: readonly ReloaderEvent[]): readonly ReloaderEvent[] =>
  traces.slice(-MAX_TRACES).map(({ sources: _, ...trace }) => trace);

/**
 * Whether the last word about a source is that another writer keeps undoing the rollout. What an Event says of so many that
 * it could not name them all is believed where it is bad news only: a change that may be lost has to be seen.
 */
export function isUndelivered(traces: readonly ReloaderEvent[], ref: SourceRef): boolean {
  const last = traces.findLast((trace) => {
    const isAbout = aboutSource(trace, ref);
    return isAbout === 'yes' || (isAbout === 'perhaps' && isGivenUp(trace));
  });
  return last !== undefined && isGivenUp(last);
}

const isGivenUp = ({ reason, message }: ReloaderEvent): boolean =>
  reason === REVERTED && message.includes('undelivered');

/** The words are the report's. */
function aboutSource({ reason, message, sources }: ReloaderEvent, ref: SourceRef): 'yes' | 'no' | 'perhaps' {
  if (reason !== REVERTED && reason !== 'Reloaded') return 'no';
  if (sources !== undefined) return isCarried(sources, ref);
  const { kind, name } = ref;
  const words = reason === REVERTED ? `${kind} ${name};` : `'${name}' of type '${SOURCE_TYPE[kind]}'`;
  return message.includes(words) ? 'yes' : 'no';
}

function asReloaderEvent(event: KubeObject): readonly ReloaderEvent[] {
  const { source, type, reason, message, lastTimestamp, eventTime } = objectIn(event);
  if (!textIn(objectIn(source)['component']).startsWith('reloader')) return [];
  const at = textIn(lastTimestamp) || textIn(eventTime);
  const version = Number(event.metadata.resourceVersion) || 0;
  const sources = event.metadata.annotations?.[SOURCES];
  return [{ at, version, type: textIn(type), reason: textIn(reason), message: textIn(message), sources }];
}
