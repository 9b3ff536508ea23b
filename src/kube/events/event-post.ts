import { hash, randomBytes } from 'node:crypto';

/** An Event to be created, as `kubectl describe` shows it. */
export interface EventPost {
  readonly regarding: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace?: string | undefined;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion?: string | undefined;
  };
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly component: string;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly fieldManager?: string | undefined;
}

/** How often it happened, and when, by the wall clock. */
export interface Occurrences {
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
}

const MAX_MESSAGE = 1024;
const MAX_NAME = 253;

/** The server refuses longer messages. Copied, because a slice keeps the whole long string in memory. */
export function shortened(event: EventPost): EventPost {
  if (event.message.length <= MAX_MESSAGE) return event;
  const message = Buffer.from(`${event.message.slice(0, MAX_MESSAGE - 1)}…`).toString();
  return { ...event, message };
}

/** The same for repetitions; a hash, so that it is short. */
export function repetitionKey({ regarding, type, reason, message, component, annotations }: EventPost): string {
  return hash('sha1', JSON.stringify([regarding.uid, type, reason, message, component, annotations]), 'base64');
}

/** As in client-go, Events about objects without a namespace are in `default`. */
export const eventNamespace = ({ regarding }: EventPost): string => regarding.namespace || 'default';

export function eventName({ regarding }: EventPost): string {
  const suffix = `.${randomBytes(8).toString('hex')}`;
  return `${regarding.name.slice(0, MAX_NAME - suffix.length)}${suffix}`;
}

export function eventBody(event: EventPost, name: string, { count, firstAt, lastAt }: Occurrences): object {
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { namespace: eventNamespace(event), name, annotations: event.annotations },
    involvedObject: event.regarding,
    type: event.type,
    reason: event.reason,
    message: event.message,
    source: { component: event.component },
    reportingComponent: event.component,
    firstTimestamp: seconds(firstAt),
    lastTimestamp: seconds(lastAt),
    count,
  };
}

/** A timestamp in the format of Events. */
export const seconds = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
