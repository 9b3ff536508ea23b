import { hash } from 'node:crypto';

/** What happened to an object, for `kubectl describe`. */
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

/** How often it happened, and when; times are of the wall. */
export interface Occurrences {
  readonly count: number;
  readonly firstAt: number;
  readonly lastAt: number;
}

const MAX_MESSAGE = 1024;
const MAX_NAME = 253;

/** The server refuses longer messages; and what waits must not hold on to the whole of a long one, as a slice does. */
export function shortened(event: EventPost): EventPost {
  if (event.message.length <= MAX_MESSAGE) return event;
  const message = Buffer.from(`${event.message.slice(0, MAX_MESSAGE - 1)}…`).toString();
  return { ...event, message };
}

/** Equal for repetitions, short whatever the message. */
export function repetitionKey({ regarding, type, reason, message, component, annotations }: EventPost): string {
  return hash('sha1', JSON.stringify([regarding.uid, type, reason, message, component, annotations]), 'base64');
}

/** Events of objects without a namespace live in `default`, as client-go has it. */
export function eventNamespace({ regarding }: EventPost): string {
  return regarding.namespace || 'default';
}

export function eventName({ regarding }: EventPost, random: string): string {
  const suffix = `.${random}`;
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

/** A time as Events have it. */
export function seconds(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}
