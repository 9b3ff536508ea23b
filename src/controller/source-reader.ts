import type { KubeObject } from '../api/objects.ts';
import { CONFIG_MAPS, SECRETS } from '../api/resources.ts';
import { type SourceKey, type SourceKind, type SourceRef, sourceKey } from '../api/sources.ts';
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
// From so many on, and if they are at least this part of what is there.
const LIST_FROM = 32;
const LIST_SHARE = 4;
const RESOURCES = { ConfigMap: CONFIG_MAPS, Secret: SECRETS };
const whereabouts = ({ kind, namespace }: SourceRef): string => `${kind}/${namespace}`;

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

  /**
   * Reads many at once, as at a start: where they are a good part of what a namespace holds, listing it costs less than
   * asking for each. What goes wrong here is left to the asking.
   */
  async readAll(refs: Iterable<SourceRef>, countIn: (kind: SourceKind, namespace: string) => number): Promise<void> {
    const groups = Map.groupBy(new Map([...refs].map((ref) => [sourceKey(ref), ref])).values(), whereabouts);
    for (const group of groups.values()) {
      const [{ kind, namespace } = { kind: 'SecretProviderClass' as const, namespace: '' }] = group;
      const isWorthIt = group.length >= LIST_FROM && group.length * LIST_SHARE >= countIn(kind, namespace);
      if (isWorthIt && kind !== 'SecretProviderClass') await this.#list(kind, namespace, group);
      else for (const ref of group) this.want(ref);
    }
    await this.settled();
  }

  async #list(kind: 'ConfigMap' | 'Secret', namespace: string, group: readonly SourceRef[]): Promise<void> {
    const left = new Map(group.map((ref) => [ref.name, ref]));
    try {
      for await (const page of this.#deps.client.list(RESOURCES[kind], { namespace })) {
        for (const object of page.items) {
          const ref = left.get(object.metadata.name);
          if (ref && left.delete(ref.name)) this.#deps.read(ref, object);
        }
      }
    } catch (error) {
      if (!KubeError.is(error)) throw error;
    }
    for (const ref of left.values()) this.want(ref);
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
    await this.#get(ref, (object) => {
      this.#wanted.delete(key);
      this.#deps.read(ref, object);
    });
    for (const waiter of waiters) waiter();
  }

  async #get(ref: SourceRef, take: (object: KubeObject | undefined) => void): Promise<void> {
    try {
      const { kind } = ref;
      if (kind === 'SecretProviderClass') take(undefined);
      else await this.#deps.client.read(RESOURCES[kind], ref, take);
    } catch (error) {
      if (!KubeError.is(error) || error.status !== 404) throw error;
      take(undefined);
    }
  }
}
