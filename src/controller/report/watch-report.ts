import { type Resource, SOURCE_RESOURCES } from '../../api/resources.ts';
import type { SourceRef } from '../../api/sources.ts';
import type { ListScope } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isTransient } from '../../kube/retry-transient.ts';
import type { Log } from '../../telemetry/log.ts';
import type { ControllerMetrics } from '../../telemetry/metric-tables/controller.ts';
import type { NotReady } from '../follow/not-ready.ts';
import { AGAIN_MS, causeOf, Reminders } from './reminders.ts';
import type { SystemReportDeps } from './system-report.ts';

/** Upstream's words. */
const EVENT_TYPE = { add: 'add', change: 'update', remove: 'delete' } as const;

/** What is listed, watched and read, and what cannot be. */
export class WatchReport {
  readonly #log: Log;
  readonly #metrics: ControllerMetrics;
  readonly #reminders: Reminders;

  constructor({ log, metrics, clock }: SystemReportDeps) {
    this.#log = log;
    this.#metrics = metrics;
    this.#reminders = new Reminders(clock);
  }

  /** A watch event, before and after the filters. */
  received(type: 'add' | 'change' | 'remove', { plural }: Resource, inScope: boolean): void {
    const labels = { event_type: EVENT_TYPE[type], resource_type: plural };
    this.#metrics.increment('reloader_events_received_total', labels);
    this.#metrics.increment('reloader_events_processed_total', { ...labels, result: inScope ? 'success' : 'dropped' });
    if (!inScope) this.#metrics.increment('reloader_skipped_total', { reason: 'ignored_or_not_selected' });
  }

  /** Upstream's words: scripts wait for them. */
  following({ plural }: Resource, scopes: readonly ListScope[]): void {
    this.#log.info(`created controller for: ${plural}`);
    for (const { namespace = '' } of scopes) {
      this.#log.info(`Starting Controller to watch resource type: ${plural} in namespace: ${namespace}`);
    }
  }

  withoutConfigs(): void {
    this.#log.info('ReloaderConfigs are followed as soon as their CustomResourceDefinition is installed', {
      cure: 'nothing to do, unless you want to use them: see docs/reloaderconfig.md',
    });
  }

  /** The definition that is installed is older than the program. */
  pruned(fields: readonly string[]): void {
    this.#log.warn(
      `the installed definition of ReloaderConfig does not have ${fields.join(', ')}: they have no effect`,
      {
        cure: 'apply deploy/reloaderconfigs-crd.yaml, or the file in crds/ of the chart: helm does not upgrade it',
      },
    );
  }

  /** Everything is listed: what there is to do from now on. `asking` is undefined where changes are only posted. */
  watching({ asking, sources }: { readonly asking: number | undefined; readonly sources: number }): void {
    const who = asking === undefined ? 'changes are posted to the webhook' : `${asking} workloads ask for reloads`;
    this.#log.info(`${who}, ${sources} sources are watched`, { workloads: asking, sources });
  }

  notReady({ message, cure }: NotReady, wasReady: boolean): void {
    this.#log.error(`Attune is not ready${wasReady ? ' any more' : ''}: ${message}`, { cure });
  }

  waitingForServer(error: KubeError): void {
    if (!this.#reminders.isDue(`waiting ${causeOf(error)}`, AGAIN_MS)) return;
    this.#log.warn(`waiting for the API server: ${error.message}`);
  }

  retrying({ plural }: Resource, error: KubeError, delayMs: number): void {
    this.#log.debug(`${plural}: ${error.message}`, { retryInMs: Math.round(delayMs) });
  }

  unwatchable({ plural, group }: Resource): void {
    this.#log.warn(`${plural} may be listed but not watched: they are listed when a change arrives, which is slower`, {
      cure: `grant watch on ${plural}${group && `.${group}`}`,
    });
  }

  unavailable({ plural, group }: Resource, { namespace }: ListScope, error: Error): void {
    const name = `${plural}${group && `.${group}`}`;
    this.#log.error(`Failed to list ${plural}${namespace ? ` in namespace ${namespace}` : ''}: ${error.message}`, {
      cure: cureFor(error, name),
    });
  }

  readByListing({ kind }: SourceRef, error: KubeError): void {
    this.#metrics.increment('attune_source_read_errors_total', { kind, reason: error.reason });
    if (!this.#reminders.isDue(`listed ${kind}`)) return;
    const { plural } = SOURCE_RESOURCES[kind];
    this.#log.warn(`${plural} may not be read one by one, so each is listed by its name: ${error.message}`, {
      cure: `grant get on ${plural}`,
    });
  }

  /** Said once for each kind and cause; after that it is only counted. */
  unreadable({ kind, namespace, name }: SourceRef, error: KubeError): void {
    this.#metrics.increment('attune_source_read_errors_total', { kind, reason: error.reason });
    const message = `cannot read ${kind} ${namespace}/${name}: ${error.message}`;
    const fields = { namespace, source: `${kind}/${name}` };
    if (!this.#reminders.isDue(`unreadable ${kind} ${causeOf(error)}`)) {
      this.#log.debug(message, fields);
      return;
    }
    this.#log.warn(`${message}; until it can be read, or changes, its users are left as they are`, {
      ...fields,
      retry: isTransient(error) ? 'soon' : 'in some minutes',
      cure: error.status === 403 ? `grant get on ${SOURCE_RESOURCES[kind].plural}` : undefined,
      metric: 'attune_source_read_errors_total',
    });
  }
}

/** What would help where a kind cannot be listed. */
function cureFor(error: Error, name: string): string | undefined {
  if (KubeError.is(error, 'TooLarge'))
    return `make ${name} smaller, or have their API server heed limit=1; all other kinds are followed meanwhile`;
  return KubeError.is(error) && error.status === 404 ? undefined : `grant list and watch on ${name}`;
}
