import type { KubeObject } from '../api/objects.ts';
import type { Resource } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { Reflector } from '../kube/watch/reflector.ts';
import { pause } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Log } from '../telemetry/log.ts';
import { StateFile } from './state/state-file.ts';

export interface WatchedObjectOptions {
  readonly client: Pick<KubeClient, 'list' | 'watch'>;
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Where the last known object is kept. */
  readonly stateDir: string;
  /** All of the object that makes a pass necessary, as a text to compare. */
  readonly wakingPart: (object: KubeObject) => string;
  /** Undefined: it is gone. */
  readonly changed: (object: KubeObject | undefined) => void;
}

interface Seen {
  readonly object: KubeObject;
  readonly part: string;
}

// While it may not be watched.
const LIST_MS = 10_000;
/** Annotations that may be large, and that no step reads. */
const APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * The one object that an agent follows, kept up to date by a watch that asks for its name alone. While the API server is
 * away it is what was last known, also after the agent has been started anew.
 */
export class WatchedObject {
  readonly #options: WatchedObjectOptions;
  readonly #known: StateFile<KubeObject | null>;
  readonly #listed = Promise.withResolvers<void>();
  #seen: Seen | undefined;
  #isGone = false;
  #unsaved: KubeObject | undefined;

  constructor(options: WatchedObjectOptions) {
    this.#options = options;
    this.#known = new StateFile<KubeObject | null>(options.stateDir, 'object', null);
  }

  /** Undefined: nothing was ever known of it. A deleted object is what it last was. */
  get current(): KubeObject | undefined {
    return this.#seen?.object ?? this.#known.value ?? undefined;
  }

  /** The server has said that there is no such object. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** When the server has answered for the first time, or after so long without an answer. */
  async first(withinMs: number): Promise<void> {
    const late = Promise.withResolvers<void>();
    const callOff = this.#options.clock.after(withinMs, late.resolve);
    await Promise.race([this.#listed.promise, late.promise]);
    callOff();
  }

  /** Keeps what is known for the next start; rejects if that is impossible. */
  async save(): Promise<void> {
    const object = this.#unsaved;
    if (!object) return;
    await this.#known.save(object);
    if (this.#unsaved === object) this.#unsaved = undefined;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { client, resource, namespace, name, clock, log } = this.#options;
    const scope = { namespace, fieldSelector: `metadata.name=${name}` };
    const reflector = new Reflector<Seen>(client, resource, scope, {
      clock,
      digest: (object) => (object.metadata.name === name ? this.#digest(object) : undefined),
      retrying: (error, delayMs, failures) => {
        const said = failures === 1 ? log.warn : log.debug;
        said('the API server does not answer; what was last known counts', {
          error: error.message,
          retryInMs: Math.round(delayMs),
        });
      },
    });
    await reflector.run(signal, (event) => {
      if (event.type === 'add' || event.type === 'change') this.#saw(event.value);
      else if (event.type === 'remove') this.#gone();
      else if (event.type === 'synced') {
        if (reflector.values.size === 0) this.#gone();
        this.#listed.resolve();
      } else if (event.type === 'unavailable') {
        log.error('the object cannot be read; what was last known counts', { error: event.error.message });
        this.#listed.resolve();
      } else if (event.type === 'unwatchable') {
        log.error('the object may be listed, but not watched; it is listed now and then', { everyMs: LIST_MS });
        void this.#listing(reflector, signal);
      }
    });
  }

  /** Until a watch works again. */
  async #listing(reflector: Reflector<Seen>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !reflector.watchable) {
      await pause(this.#options.clock, LIST_MS, signal);
      // The next one may work.
      await reflector.refresh().catch(() => undefined);
    }
  }

  #digest(object: KubeObject): Seen {
    return { object, part: this.#options.wakingPart(object) };
  }

  #saw(seen: Seen): void {
    const isNews = this.#isGone || seen.part !== this.#seen?.part;
    this.#isGone = false;
    this.#seen = seen;
    if (!isNews) return;
    this.#unsaved = plain(seen.object);
    this.#options.changed(seen.object);
  }

  #gone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#options.changed(undefined);
  }
}

/** Without what only the server needs. */
function plain(object: KubeObject): KubeObject {
  const { managedFields: _, annotations = {}, ...metadata } = object.metadata;
  const { [APPLIED]: __, ...kept } = annotations;
  return { ...object, metadata: { ...metadata, annotations: kept } };
}
