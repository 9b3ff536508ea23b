import type { KubeObject } from '../api/objects.ts';
import { CONFIG_MAPS, SECRETS } from '../api/resources.ts';
import { type SourceKey, type SourceRef, sourceKey } from '../api/sources.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/kube-error.ts';
import type { Clock } from '../runtime/clock.ts';
import { KeyedQueue } from '../runtime/queue.ts';
import { runWorkers } from '../runtime/worker.ts';

export interface SourceReaderDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** The object as it is now; undefined: it is gone, or not to be read. */
  readonly read: (ref: SourceRef, object: KubeObject | undefined) => void;
  readonly unreadable: (ref: SourceRef, error: KubeError) => void;
}

const WORKERS = 16;

/** Reads the bytes of sources that were listed without them, and that somebody turned out to use. Once each. */
export class SourceReader {
  readonly #deps: SourceReaderDeps;
  readonly #queue: KeyedQueue<SourceKey>;
  readonly #wanted = new Map<SourceKey, { readonly ref: SourceRef; readonly waiters: (() => void)[] }>();

  constructor(deps: SourceReaderDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<SourceKey>({ clock: deps.clock });
  }

  want(ref: SourceRef): void {
    // A class has no object of its own whose bytes could be read.
    if (ref.kind === 'SecretProviderClass') return;
    const key = sourceKey(ref);
    if (this.#wanted.has(key)) return;
    this.#wanted.set(key, { ref, waiters: [] });
    this.#queue.add(key);
  }

  /** Waits until everything wanted so far has been tried once. */
  async settled(): Promise<void> {
    await Promise.all(
      [...this.#wanted.values()].map(({ waiters }) => new Promise<void>((resolve) => waiters.push(resolve))),
    );
  }

  run(): Promise<void> {
    return runWorkers(this.#queue, {
      workers: WORKERS,
      handle: (key) => this.#read(key),
      failed: (key, error) => {
        if (!KubeError.is(error)) throw error;
        this.#queue.retry(key, error.retryAfterMs);
        const wanted = this.#wanted.get(key);
        if (wanted) this.#deps.unreadable(wanted.ref, error);
        for (const waiter of wanted?.waiters.splice(0) ?? []) waiter();
      },
    });
  }

  stop(): void {
    this.#queue.close();
    for (const { waiters } of this.#wanted.values()) for (const waiter of waiters) waiter();
  }

  async #read(key: SourceKey): Promise<void> {
    const wanted = this.#wanted.get(key);
    if (!wanted) return;
    const { ref, waiters } = wanted;
    const object = await this.#get(ref);
    this.#wanted.delete(key);
    this.#deps.read(ref, object);
    for (const waiter of waiters) waiter();
  }

  async #get(ref: SourceRef): Promise<KubeObject | undefined> {
    try {
      return await this.#deps.client.get<KubeObject>(ref.kind === 'Secret' ? SECRETS : CONFIG_MAPS, ref);
    } catch (error) {
      if (KubeError.is(error) && error.status === 404) return undefined;
      throw error;
    }
  }
}
