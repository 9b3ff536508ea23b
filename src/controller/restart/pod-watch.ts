import { PODS } from '../../api/resources.ts';
import { type Pod, parsePod } from '../../domain/workload/pod.ts';
import type { KubeClient, ListScope } from '../../kube/client.ts';
import type { KubeError } from '../../kube/kube-error.ts';
import { type ReflectEvent, Reflector } from '../../kube/watch/reflector.ts';
import type { Clock } from '../../runtime/clock.ts';

export interface PodWatchDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  /** Something has happened to the pods. */
  readonly moved: () => void;
}

// The pods of a large workload have much to tell, and a few looks a second are enough.
const GATHER_MS = 200;

/** The pods that a selector selects, from the first listing on until it is closed. */
export class PodWatch {
  readonly #deps: PodWatchDeps;
  readonly #reflector: Reflector<Pod>;
  readonly #end = new AbortController();
  #version: number | undefined;
  #error: KubeError | undefined;
  #callOff: (() => void) | undefined;
  #isOpen = false;

  constructor(deps: PodWatchDeps, scope: ListScope) {
    const { client, clock } = deps;
    this.#deps = deps;
    this.#reflector = new Reflector<Pod>(client, PODS, scope, { clock, digest: parsePod });
  }

  /** Undefined: they have not been listed yet. */
  get pods(): readonly Pod[] | undefined {
    return this.#version === undefined ? undefined : [...this.#reflector.values.values()];
  }

  /** The server's version of the last listing; there may be news since. */
  get listedAt(): number {
    return this.#version ?? 0;
  }

  /** Why they cannot be listed. */
  get error(): KubeError | undefined {
    return this.#error;
  }

  get isClosed(): boolean {
    return this.#end.signal.aborted;
  }

  /** False: only `refresh` brings news. */
  get isWatched(): boolean {
    return this.#reflector.watchable;
  }

  /** Lists them once more: what is known then is newer than everything that happened before the call. */
  refresh(): Promise<void> {
    const listed = this.#reflector.refresh();
    this.open();
    return listed;
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    void this.#reflector.run(this.#end.signal, (event) => this.#noted(event));
  }

  close(): void {
    this.#callOff?.();
    this.#end.abort();
  }

  #noted(event: ReflectEvent<Pod>): void {
    if (event.type === 'bookmark') return;
    if (event.type === 'unavailable') this.#error = event.error;
    if (event.type === 'synced') {
      this.#version = Number(event.resourceVersion);
      this.#error = undefined;
    }
    this.#callOff ??= this.#deps.clock.after(GATHER_MS, () => {
      this.#callOff = undefined;
      this.#deps.moved();
    });
  }
}
