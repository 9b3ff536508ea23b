import type { WorkloadKind } from '../../api/kinds.ts';
import type { Restart } from '../../domain/ledger/restart.ts';
import { type EvictionFacts, leftOf } from '../../domain/plan/next-eviction.ts';
import type { RestartProgress } from '../../domain/reloader-config/status-facts.ts';
import type { Pod } from '../../domain/workload/pod.ts';
import type { ListScope } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { makersOf, type Uids } from '../../model/pod-makers.ts';
import { PodWatch, type PodWatchDeps } from './pod-watch.ts';
import { mayNotList } from './stopped.ts';

/** What a process knows about a restart beside what is kept of it: nothing that could not be found out anew. */
export class RunningRestart {
  readonly watch: PodWatch;
  /** Pods that we have evicted, whatever the watch says yet. */
  readonly evicted = new Set<string>();
  /** When the workload could last spare a pod, in milliseconds of the server's clock. */
  availableAt = 0;
  /** How often in a row there was nothing to do. */
  waits = 0;
  /** For whoever asks how far it is. */
  progress: RestartProgress | undefined;
  readonly #deps: PodWatchDeps;
  readonly #kind: WorkloadKind;
  readonly #scope: ListScope;
  readonly #owner: Uids;
  /** Whether somebody who makes pods belongs to the workload. */
  readonly #makers = new Map<string, boolean>();
  #isDoubtful = false;
  #said = '';

  constructor(deps: PodWatchDeps, kind: WorkloadKind, uid: string, scope: ListScope) {
    this.#deps = deps;
    this.#kind = kind;
    this.#scope = scope;
    this.#owner = new Set([uid]);
    this.watch = new PodWatch(deps, scope);
  }

  /** Whether it is about this very object, and not one that had its name. */
  isAbout(uid: string): boolean {
    return this.#owner.has(uid);
  }

  /** What the watch says may be older than what an eviction has brought about, and nobody knows what that is. */
  doubt(): void {
    this.#isDoubtful = true;
  }

  /** All pods, of whatever workload; undefined: they are not listed yet. */
  async pods(): Promise<readonly Pod[] | undefined> {
    const { watch } = this;
    watch.open();
    if (watch.error) throw mayNotList(watch.error, this.#scope);
    if (watch.pods && (this.#isDoubtful || !watch.isWatched)) await this.#refresh();
    if (watch.pods) await this.#learnMakers(watch.pods);
    return watch.pods;
  }

  /** Those that run now, counted by the server and not by the watch. */
  async counted(): Promise<readonly Pod[]> {
    await this.#refresh();
    const pods = this.watch.pods ?? [];
    await this.#learnMakers(pods);
    return pods.filter((pod) => pod.isRunning && this.isOwn(pod));
  }

  readonly isOwn: EvictionFacts['isOwn'] = ({ maker }) => this.#makers.get(maker) === true;

  told(restart: Restart, pods: readonly Pod[], message?: string): void {
    this.progress = { pods: restart.pods, left: leftOf(restart, pods).length, message };
  }

  /** Says what is the matter, and hands it back to be thrown. */
  stopped(error: KubeError): KubeError {
    this.tell(error.detail);
    return error;
  }

  /** Whether it is at another point than when this was asked last. */
  get isNews(): boolean {
    const { left, message } = this.progress ?? {};
    const said = `${left} ${message}`;
    const isOther = said !== this.#said;
    this.#said = said;
    return isOther;
  }

  tell(message: string | undefined): void {
    if (this.progress) this.progress = { ...this.progress, message };
  }

  close(): void {
    this.watch.close();
  }

  async #refresh(): Promise<void> {
    try {
      await this.watch.refresh();
    } catch (error) {
      // It was called off, which is no failure.
      if (this.watch.isClosed) return;
      throw KubeError.is(error) && error.status === 403 ? mayNotList(error, this.#scope) : error;
    }
    this.#isDoubtful = false;
  }

  async #learnMakers(pods: readonly Pod[]): Promise<void> {
    const unknown = pods.filter(({ maker }) => !this.#makers.has(maker));
    if (unknown.length === 0) return;
    const found = await makersOf(this.#deps.client, this.#kind, this.#scope, this.#owner);
    if ('unlisted' in found) throw mayNotList(undefined, this.#scope, found.unlisted);
    for (const { maker } of unknown) this.#makers.set(maker, found.uids.has(maker));
  }
}
