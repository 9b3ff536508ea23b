import { upperJitter } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Log } from './log.ts';
import type { ControllerMetrics } from './metric-tables/controller.ts';
import { createOutbox } from './outbox.ts';
import { type PostAnswer, post } from './post.ts';

export interface AlertSettings {
  readonly enabled: boolean;
  readonly url: string;
  readonly sink: 'slack' | 'teams' | 'gchat' | 'raw';
  /** Undefined: no prefix; empty: a prefix of nothing but its separator. */
  readonly additionalInfo: string | undefined;
  /** '': none. */
  readonly proxy: string;
}

/** What was reloaded, and because of what. */
export interface Alert {
  /** A name, or a list of several with their kinds. */
  readonly source: string;
  /** CONFIGMAP, SECRET or SECRETPROVIDERCLASS; undefined: a list says it itself. */
  readonly sourceType: string | undefined;
  /** Where the sources are. */
  readonly namespaces: readonly string[];
  readonly workload: string;
  readonly workloadKind: string;
  readonly workloadNamespace: string;
}

export interface Alerts {
  /** Returns at once, whatever the receiver does. */
  send(alert: Alert): void;
  drain(deadlineMs: number): Promise<void>;
}

interface AlertDeps {
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics: Pick<ControllerMetrics, 'increment'>;
}

interface Sink {
  readonly contentType: string;
  readonly body: (text: string) => string;
  readonly accepts: (status: number) => boolean;
}

const succeeded = (status: number): boolean => status >= 200 && status < 300;

const TEXT = { contentType: 'application/json', body: (text: string) => JSON.stringify({ text }) };

const SINKS: Readonly<Record<AlertSettings['sink'], Sink>> = {
  slack: {
    contentType: 'application/json',
    body: (text) => JSON.stringify({ attachments: [{ author_name: 'Reloader', color: 'good', text }] }),
    accepts: succeeded,
  },
  // Stakater takes the 202 of Power Automate for an error, although the message has arrived.
  teams: { ...TEXT, accepts: succeeded },
  gchat: { ...TEXT, accepts: (status) => status === 200 },
  raw: { contentType: 'text/plain', body: (text) => text.replaceAll('*', ''), accepts: succeeded },
};

const TIMEOUT_MS = 10_000;
const ATTEMPTS = 5;
const BACKOFF = { baseMs: 1_000, capMs: 60_000 };
/** Some hundred bytes each; nobody reads more at once. */
const QUEUE_LIMIT = 1_000;

/** Tells people about reloads. A receiver that is slow, broken or gone costs log lines and nothing else. */
export function createAlerts(settings: AlertSettings, { log, clock, metrics }: AlertDeps): Alerts {
  const url = httpUrl(settings.url);
  const proxy = settings.proxy === '' ? undefined : httpUrl(settings.proxy);
  const sink = SINKS[settings.sink];
  const usable = url !== undefined && (settings.proxy === '' || proxy !== undefined);
  let complained = false;

  const outbox = createOutbox<string>(deliver, QUEUE_LIMIT, clock);

  async function deliver(text: string, attempt: number, signal: AbortSignal): Promise<number | undefined> {
    if (!url) return undefined;
    const body = sink.body(text);
    const request = { url, proxy, contentType: sink.contentType, body, timeoutMs: TIMEOUT_MS, signal };
    const { status, retryAfterMs, error }: Delivery = await post(request).catch(noAnswer);
    if (status !== undefined && sink.accepts(status)) {
      metrics.increment('attune_alerts_total', { result: 'success' });
      return undefined;
    }
    const fields = { sink: settings.sink, host: url.host, attempt, error: error ?? `status ${status}` };
    if (attempt < ATTEMPTS && isTransient(status) && !signal.aborted) {
      // Reported at the first failure, not only after the last attempt.
      log[attempt === 1 ? 'error' : 'debug']('alert not delivered, trying again', fields);
      return Math.min(BACKOFF.capMs, retryAfterMs ?? upperJitter(attempt, BACKOFF, Math.random));
    }
    metrics.increment('attune_alerts_total', { result: 'error' });
    log.error('alert not delivered', fields);
    return undefined;
  }

  return {
    send(alert) {
      if (!settings.enabled) return;
      if (!usable) {
        if (!complained) log.error('no alert is sent: ALERT_WEBHOOK_URL or ALERT_WEBHOOK_PROXY is missing or no URL');
        complained = true;
      } else if (!outbox.add(textOf(alert, settings.additionalInfo))) {
        metrics.increment('attune_alerts_total', { result: 'dropped' });
        log.warn('alert dropped, too many are waiting', { sink: settings.sink, host: url.host });
      }
    },
    drain: (deadlineMs) => outbox.drain(deadlineMs),
  };
}

/** Stakater's wording, as people match on it. */
function textOf(alert: Alert, info: string | undefined): string {
  const { source, sourceType, namespaces, workload, workloadKind, workloadNamespace } = alert;
  const type = sourceType === undefined ? '' : ` of type *${sourceType}*`;
  const where = `namespace${namespaces.length > 1 ? 's' : ''} ${namespaces.map((name) => `*${name}*`).join(', ')}`;
  const text =
    `Reloader detected changes in *${source}*${type} in ${where}. ` +
    `Hence reloaded *${workload}* of type *${workloadKind}* in namespace *${workloadNamespace}*`;
  return info === undefined ? text : `${info} : ${text}`;
}

function httpUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  return url && /^https?:$/.test(url.protocol) ? url : undefined;
}

/** An answer, or why there is none. */
type Delivery = Partial<PostAnswer> & { readonly error?: string };

const noAnswer = (error: unknown): Delivery => ({ error: error instanceof Error ? error.message : String(error) });

const isTransient = (status: number | undefined): boolean =>
  status === undefined || status === 408 || status === 429 || status >= 500;
