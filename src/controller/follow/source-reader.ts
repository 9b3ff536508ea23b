import type { KubeObject } from '../../api/objects.ts';
import { CONFIG_MAPS, type Resource, SECRETS } from '../../api/resources.ts';
import { type SourceKey, type SourceKind, type SourceRef, sourceKey } from '../../api/sources.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isTransient } from '../../kube/retry-transient.ts';
import { KeyedQueue } from '../../runtime/queue.ts';
import { runWorkers } from '../../runtime/worker.ts';
import type { ControllerDeps } from '../controller.ts';
import type { WatchReport } from '../report/watch-report.ts';
import { setbackOf } from '../write/setback.ts';

export interface SourceReaderDeps extends Pick<ControllerDeps, 'client' | 'clock'> {
  /** The object as it is now; undefined: it is gone, or not to be read. */
  readonly read: (ref: SourceRef, object: KubeObject | undefined) => void;
  /** Whether its bytes are still to be known: a change brings them along. */
  readonly isNeeded: (ref: SourceRef) => boolean;
  readonly report: Pick<WatchReport, 'readByListing' | 'unreadable'>;
}

const WORKERS = 16;
// Rights that are missing may be granted later, and we are not told.
const REFUSED_MS = 600_000;
// A namespace is listed if so many of its objects are wanted, and at least one in so many.
const LIST_FROM = 32;
const LIST_SHARE = 4;
/** A class has no object of its own whose bytes could be read. */
const RESOURCES: Partial<Record<SourceKind, Resource>> = { ConfigMap: CONFIG_MAPS, Secret: SECRETS };

/** The object may be used only during the call. */
type Take = (object: KubeObject | undefined) => void;

interface Wanted {
  readonly ref: SourceRef;
  readonly resource: Resource;
  /** At least once, whatever came of it. */
  readonly tried: PromiseWithResolvers<void>;
}

const placeOf = ({ kind, namespace }: SourceRef): string => `${kind}/${namespace}`;

/** Reads the data of sources that were listed without it, and that some workload uses. Once each. */
export class SourceReader {
  readonly #deps: SourceReaderDeps;
  readonly #queue: KeyedQueue<SourceKey>;
  readonly #wanted = new Map<SourceKey, Wanted>();
  /** Kinds and namespaces of which objects may not be read one by one. */
  readonly #listedOnly = new Set<string>();
  #hasEnded = false;

  constructor(deps: SourceReaderDeps) {
    this.#deps = deps;
    this.#queue = new KeyedQueue<SourceKey>({ clock: deps.clock });
    deps.client.onRecovery((lastedMs) => this.#queue.forgive(deps.clock.now() - lastedMs));
  }

  /** How many are needed and not read yet. */
  get pending(): number {
    return [...this.#wanted.values()].filter(({ ref }) => this.#deps.isNeeded(ref)).length;
  }

  want(ref: SourceRef): void {
    const key = sourceKey(ref);
    const resource = RESOURCES[ref.kind];
    if (!resource || this.#wanted.has(key)) return;
    this.#wanted.set(key, { ref, resource, tried: Promise.withResolvers() });
    this.#queue.add(key);
  }

  /**
   * Reads many at once, as at a start: where they are a good part of what a namespace holds, one listing costs less than
   * reading each. What fails here is read one by one.
   */
  async readAll(refs: Iterable<SourceRef>, countIn: (kind: SourceKind, namespace: string) => number): Promise<void> {
    const groups = Map.groupBy(new Map([...refs].map((ref) => [sourceKey(ref), ref])).values(), placeOf);
    for (const group of groups.values()) {
      const [first] = group;
      const resource = first && RESOURCES[first.kind];
      if (!resource) continue;
      const isWorthIt = group.length >= LIST_FROM && group.length * LIST_SHARE >= countIn(first.kind, first.namespace);
      if (isWorthIt) await this.#list(resource, first.namespace, group);
      else for (const ref of group) this.want(ref);
    }
    await this.settled();
  }

  async #list(resource: Resource, namespace: string, group: readonly SourceRef[]): Promise<void> {
    const left = new Map(group.map((ref) => [ref.name, ref]));
    try {
      for await (const page of this.#deps.client.list(resource, { namespace })) {
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

  /** Waits until everything wanted so far has been tried once, or nothing is tried any more. */
  async settled(): Promise<void> {
    if (this.#hasEnded) return;
    await Promise.all([...this.#wanted.values()].map(({ tried }) => tried.promise));
  }

  async run(signal: AbortSignal): Promise<void> {
    const handle = (key: SourceKey): Promise<void> => this.#read(key);
    const failed = (key: SourceKey, error: unknown): void => {
      if (!KubeError.is(error)) throw error;
      const isPassing = isTransient(error);
      this.#queue.retry(key, isPassing ? setbackOf(error) : { atLeastMs: REFUSED_MS * (1 + Math.random()) });
      const wanted = this.#wanted.get(key);
      if (!wanted) return;
      this.#deps.report.unreadable(wanted.ref, error);
      wanted.tried.resolve();
    };
    await runWorkers(this.#queue, { workers: WORKERS, clock: this.#deps.clock, handle, failed }, signal);
    this.#hasEnded = true;
    for (const { tried } of this.#wanted.values()) tried.resolve();
  }

  async #read(key: SourceKey): Promise<void> {
    const wanted = this.#wanted.get(key);
    if (!wanted) return;
    const { ref } = wanted;
    const take: Take = (object) => {
      this.#wanted.delete(key);
      this.#deps.read(ref, object);
    };
    if (this.#deps.isNeeded(ref)) await this.#find(wanted, take);
    else this.#wanted.delete(key);
    wanted.tried.resolve();
  }

  /** With the right to list, but not to get, an object is listed by its name instead. */
  async #find({ ref, resource }: Wanted, take: Take): Promise<void> {
    const where = placeOf(ref);
    const isListed = this.#listedOnly.has(where);
    try {
      if (isListed) await this.#listOne(resource, ref, take);
      else await this.#deps.client.read(resource, ref, take);
    } catch (error) {
      if (!KubeError.is(error)) throw error;
      // The other way next time.
      if (error.status === 403 && isListed) this.#listedOnly.delete(where);
      if (error.status === 404) take(undefined);
      else if (error.status !== 403 || isListed) throw error;
      else {
        this.#listedOnly.add(where);
        this.#deps.report.readByListing(ref, error);
        await this.#listOne(resource, ref, take);
      }
    }
  }

  async #listOne(resource: Resource, { namespace, name }: SourceRef, take: Take): Promise<void> {
    const scope = { namespace, fieldSelector: `metadata.name=${name}` };
    for await (const { items } of this.#deps.client.list(resource, scope)) if (items[0]) return take(items[0]);
    take(undefined);
  }
}
