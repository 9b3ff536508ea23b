import type { WorkloadState } from '../../domain/state/workload-state.ts';
import type { Workload, WorkloadKey } from '../../domain/workload/workload.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isTransient } from '../../kube/retry-transient.ts';
import { type CheckpointOptions, CheckpointReader, type Loaded } from '../../model/ledger/checkpoint-reader.ts';
import type { LedgerKey } from '../../model/ledger/ledger-key.ts';
import { MAX_SHARDS, SHARD_FORMAT, type ShardContent, shardRef } from '../../model/ledger/shard.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { LedgerReport } from '../report/ledger-report.ts';
import { keptWorkload } from './kept-workload.ts';
import { type Cut, type ShardEntry, type ShardText, shardText, USUAL_BYTES } from './shard-text.ts';
import { ShardWriter } from './shard-writer.ts';

export interface CheckpointDeps extends CheckpointOptions, Pick<LedgerKey, 'mayStore'> {
  readonly clock: Clock;
  readonly states: () => ReadonlyMap<WorkloadKey, WorkloadState>;
  readonly mayWrite: () => boolean;
  /** Up to which version every event of each kind was received. */
  readonly heard: () => Required<Pick<ShardContent, 'seen' | 'told'>>;
  readonly report: Pick<LedgerReport, 'checkpoint' | 'ledgerUnreadable' | 'shardsLost' | 'ledgerWrite' | 'ledgerState'>;
  /** A workload needs so many bytes in the ledger, and that is more than its share. Called once for as long as it is so. */
  readonly tooLarge: (workload: Workload, bytes: number) => void;
}

const FLUSH_MS = 1000;
// Tells a later start how long no controller ran. Rare, because it costs a write when nothing else happens.
const HEARTBEAT_MS = 600_000;
const GROW_AGAIN_MS = 10_000;
const WRITES_AT_ONCE = 8;

/**
 * What was never rolled, and therefore stands on no workload: read at the start, and kept in ConfigMaps of our own namespace.
 *
 * Written at most once a second, and only where something changed; never for a rollout that carries its own record. Each shard
 * is written for itself: one that the server refuses holds back no other.
 */
export class Checkpoint extends CheckpointReader {
  readonly #deps: CheckpointDeps;
  #shards: readonly ShardWriter[] = [];
  /** As many as there are going to be, while new ones are being created. */
  #growing: readonly ShardWriter[] | undefined;
  /** New ones that could not be created, and when to try again. */
  #notCreated: readonly ShardWriter[] = [];
  #growAfter = Number.NEGATIVE_INFINITY;
  /**
   * Entries that move to another shard. Their old shard, the key of this map, keeps them until the new shard is stored. So a
   * crash or a refused write loses no entry.
   */
  #lodgers = new Map<number, Set<WorkloadKey>>();
  /** Written down as not yet rolled out. */
  readonly #coming = new Set<WorkloadKey>();
  /** Entries that were written only in part, and those of them that were told. */
  readonly #cut = new Map<WorkloadKey, Cut>();
  readonly #told = new Set<WorkloadKey>();
  #timer: { readonly at: number; readonly cancel: () => void } | undefined;
  /** The server asked for so much time. */
  #notBefore = Number.NEGATIVE_INFINITY;
  #flushing = Promise.resolve<KubeError | undefined>(undefined);
  #stopBeat: (() => void) | undefined;

  constructor(deps: CheckpointDeps) {
    super(deps);
    this.#deps = deps;
  }

  override async load(): Promise<Loaded> {
    const { client, namespace, report } = this.#deps;
    // A write of an earlier term may still be under way.
    await this.#flushing;
    await Promise.all(this.#shards.map((shard) => shard.settled()));
    const loaded = await super.load();
    this.#lodgers = new Map(
      [...this.misplaced].filter(([n]) => n < this.versions.length).map(([n, keys]) => [n, new Set(keys)]),
    );
    this.#notCreated = [];
    this.#growAfter = Number.NEGATIVE_INFINITY;
    this.#shards =
      namespace === undefined
        ? []
        : this.versions.map((version, n) => new ShardWriter(client, shardRef(namespace, n), version));
    if (loaded.unreadable) report.ledgerUnreadable(loaded.unreadable);
    if (loaded.lost.length > 0) report.shardsLost(loaded.lost);
    report.checkpoint(loaded.result);
    return loaded;
  }

  override forgetPast(): void {
    super.forgetPast();
    if (this.#shards.some(({ isDirty }) => isDirty)) this.#arm(FLUSH_MS);
  }

  override gone(key: WorkloadKey): void {
    this.touch(key);
    for (const keys of this.#lodgers.values()) keys.delete(key);
    super.gone(key);
    this.#coming.delete(key);
    this.#cut.delete(key);
    this.#told.delete(key);
  }

  /**
   * Its pods are all replaced: worth a write where it was written down that they were not. A record says as much as is needed
   * for a while; then it is better to know more, but not worth a write of its own.
   */
  completed(key: WorkloadKey): void {
    if (this.#coming.delete(key)) this.touch(key);
    else this.#outdate(key);
  }

  touch(key: WorkloadKey): void {
    if (this.#shards.length === 0) return;
    for (const shard of this.#shardsOf(key)) shard.isDirty = true;
    this.#arm(FLUSH_MS);
  }

  /** Writes everything once, so that from here on a loss can be told from a first start; then writes a heartbeat. */
  async establish(): Promise<void> {
    await this.#flushAll();
    const transient = this.#shards.map(({ failure }) => failure).find((failure) => failure && isPassing(failure));
    if (transient) throw transient;
    if (!this.#stopBeat) this.#beat();
  }

  /**
   * Writes down what is believed of a workload, and waits until it is there: in its own shard, whatever becomes of others.
   * Throws what keeps it from being written.
   */
  async keep(key: WorkloadKey): Promise<void> {
    this.touch(key);
    await this.#keepOnce(key);
    if (this.#cut.get(key)?.isRestartLost && this.#shards.length < MAX_SHARDS) {
      // With more shards there may be room for it.
      this.touch(key);
      await this.flush();
      await this.#keepOnce(key);
    }
    const cut = this.#cut.get(key);
    if (cut?.isRestartLost)
      throw notKept(413, `it needs ${cut.bytes} bytes for its pods and sources, more than its share`);
  }

  async #keepOnce(key: WorkloadKey): Promise<void> {
    const shards = this.#shards;
    const n = this.numberOf(key, shards.length);
    const shard = shards[n];
    if (!shard) throw notKept(404, 'its own namespace is not known');
    if (!this.#mayWrite()) throw OTHER_LEADS;
    await this.#store([n]);
    // There are more of them meanwhile, and its place is in another one.
    if (shards !== this.#shards) return this.#keepOnce(key);
    this.#tellState();
    if (shard.failure) throw shard.failure;
  }

  /** Resolves with what went wrong. */
  async flush(): Promise<KubeError | undefined> {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#flushing = this.#flushing.then(() => this.#write());
    return await this.#flushing;
  }

  /** The last write of a process: up to which version it received events. */
  async close(): Promise<void> {
    this.#addOutdated();
    await this.#flushAll();
  }

  /** Those as well that would be written later. */
  async #flushAll(): Promise<void> {
    for (const shard of this.#shards) shard.heldUntil = Number.NEGATIVE_INFINITY;
    await this.flush();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#stopBeat?.();
  }

  #beat(): void {
    this.#stopBeat = this.#deps.clock.after(HEARTBEAT_MS, () => {
      this.#addOutdated();
      this.#arm(0);
      this.#beat();
    });
  }

  #addOutdated(): void {
    // The first shard says, for all that are current, up to which version events were received.
    for (const [n, shard] of this.#shards.entries()) {
      if (n === 0 || shard.isOutdated) shard.isDirty = true;
      shard.isOutdated = false;
    }
  }

  #arm(ms: number): void {
    const { clock, mayWrite } = this.#deps;
    const at = Math.max(clock.now() + ms, this.#notBefore);
    if (!mayWrite() || (this.#timer && this.#timer.at <= at)) return;
    this.#timer?.cancel();
    const cancel = clock.after(at - clock.now(), () => {
      this.#timer = undefined;
      void this.flush();
    });
    this.#timer = { at, cancel };
  }

  #mayWrite(): boolean {
    return this.isForgotten && this.#deps.mayWrite();
  }

  async #write(): Promise<KubeError | undefined> {
    if (!this.#mayWrite()) return OTHER_LEADS;
    for (;;) {
      const crowding = await this.#storeDirty();
      if (crowding <= 1) return this.#tellState();
      await this.#grow(crowding);
    }
  }

  /** Stops before the first that is crowded, as long as there can be more of them, and tells how crowded it is. */
  async #storeDirty(): Promise<number> {
    this.#moveOut();
    do {
      const now = this.#deps.clock.now();
      const held = this.#shards.filter(({ isDirty, heldUntil }) => isDirty && heldUntil > now);
      for (const { heldUntil } of held) this.#arm(heldUntil - now);
      const isDue = (shard: ShardWriter | undefined) => shard?.isDirty && shard.heldUntil <= now;
      const dirty = [...this.#shards.keys()].filter((n) => isDue(this.#shards[n])).reverse();
      // The first one comes last: it says which of the others are current.
      const others = dirty.filter((n) => n > 0);
      for (let at = 0; at < others.length; at += WRITES_AT_ONCE) {
        const crowding = await this.#store(others.slice(at, at + WRITES_AT_ONCE), this.#mayGrow);
        if (crowding > 1) return crowding;
      }
      const crowding = dirty.includes(0) ? await this.#store([0], this.#mayGrow) : 1;
      if (crowding > 1) return crowding;
    } while (this.#moveOut());
    return 1;
  }

  /** Lets the lodgers of a shard go once all of them are stored in their own shards, and has the shard written without them. */
  #moveOut(): boolean {
    const shards = this.#shards;
    const isAtHome = (key: WorkloadKey) => shards[this.numberOf(key, shards.length)]?.currentVersion !== undefined;
    const left = [...this.#lodgers].filter(([, keys]) => [...keys].every(isAtHome)).map(([n]) => n);
    for (const n of left) {
      this.#lodgers.delete(n);
      const shard = shards[n];
      if (shard) shard.isDirty = true;
    }
    return left.length > 0;
  }

  /** Writes those of these shards that are dirty. Never throws what the server answers: that is their `failure`. */
  async #store(numbers: readonly number[], unlessCrowded = false): Promise<number> {
    const all = this.#shards;
    const settled = () => Promise.all(numbers.map((n) => all[n]?.settled()));
    await settled();
    if (all !== this.#shards) return 1;
    // Somebody else may have begun to write one of them meanwhile, and knew as much.
    const due = numbers.filter((n) => all[n]?.isDirty && !all[n]?.isWriting);
    const texts = this.#texts(due, all.length);
    const crowding = Math.max(1, ...[...texts.values()].map((text) => text.crowding));
    if (unlessCrowded && crowding > 1) return crowding;
    await Promise.all(due.map((n) => this.#put(all, n, texts.get(n))));
    await settled();
    return 1;
  }

  async #put(shards: readonly ShardWriter[], n: number, made: ShardText | undefined): Promise<void> {
    const shard = shards[n];
    if (!shard || !made) return;
    const { report, mayWrite, clock } = this.#deps;
    if (!mayWrite()) {
      shard.failure = OTHER_LEADS;
      return;
    }
    this.#noteCut(made, (key) => this.numberOf(key, shards.length) === n);
    await shard.write(made.text, mayWrite);
    const { failure } = shard;
    report.ledgerWrite(failure ? 'error' : 'success');
    if (failure) this.#putOff(shard, failure);
    // The larger, the more rarely: etcd keeps every version for minutes.
    else if (made.text.length > USUAL_BYTES)
      shard.heldUntil = clock.now() + (FLUSH_MS * made.text.length) / USUAL_BYTES;
  }

  /** What the server refuses for good is tried again as rarely as a heartbeat comes. */
  #putOff(shard: ShardWriter, failure: KubeError): void {
    const now = this.#deps.clock.now();
    if (isPassing(failure)) this.#notBefore = Math.max(this.#notBefore, now + (failure.retryAfterMs ?? 0));
    else shard.heldUntil = now + HEARTBEAT_MS;
    this.#arm(isPassing(failure) ? FLUSH_MS : HEARTBEAT_MS);
  }

  /** Resolves with what is the matter, if anything is. */
  #tellState(): KubeError | undefined {
    const failing = [...this.#shards, ...this.#notCreated].flatMap(({ name, failure }) =>
      failure ? [[name, failure] as const] : [],
    );
    this.#deps.report.ledgerState(new Map(failing));
    const failures = failing.map(([, failure]) => failure);
    return failures.find(isPassing) ?? failures[0];
  }

  get #mayGrow(): boolean {
    return this.#shards.length < MAX_SHARDS && this.#deps.clock.now() >= this.#growAfter;
  }

  /**
   * Makes so many times more shards, or somewhat more. They begin to count when all of them are there: until then everything stays
   * where it is. Where one cannot be created there are no more for now, and entries are cut instead.
   */
  async #grow(times: number): Promise<void> {
    const { client, namespace = '', clock } = this.#deps;
    const before = this.#shards;
    const count = Math.min(MAX_SHARDS, before.length * 2 ** Math.ceil(Math.log2(times)));
    const numbers = Array.from({ length: count - before.length }, (_, n) => before.length + n);
    const added = numbers.map((n) => new ShardWriter(client, shardRef(namespace, n)));
    const shards = [...before, ...added];
    this.#growing = shards;
    try {
      for (let at = 0; at < numbers.length; at += WRITES_AT_ONCE) {
        const next = numbers.slice(at, at + WRITES_AT_ONCE);
        const texts = this.#texts(next, count);
        await Promise.all(next.map((n) => this.#put(shards, n, texts.get(n))));
        // Those that are crowded themselves are looked at once more.
        for (const n of next) {
          const shard = shards[n];
          if (shard && (texts.get(n)?.crowding ?? 1) > 1) shard.isDirty = true;
        }
      }
    } finally {
      this.#growing = undefined;
    }
    this.#notCreated = added.filter(({ failure }) => failure);
    if (this.#notCreated.length > 0) {
      const isBrief = this.#notCreated.every(({ failure }) => failure && isPassing(failure));
      this.#growAfter = clock.now() + (isBrief ? GROW_AGAIN_MS : HEARTBEAT_MS);
      return;
    }
    this.#shards = shards;
    this.#lodgeMoved(before.length);
    for (const shard of before) shard.isDirty = true;
    for (const shard of shards) shard.heldUntil = Number.NEGATIVE_INFINITY;
  }

  /** Entries that belong into another shard now stay in their old shard until they are stored in the new one. */
  #lodgeMoved(countBefore: number): void {
    for (const key of new Set([...this.#deps.states().keys(), ...this.entries.keys()])) {
      const n = this.numberOf(key, countBefore);
      if (this.numberOf(key, this.#shards.length) === n) continue;
      this.#lodgers.set(n, (this.#lodgers.get(n) ?? new Set()).add(key));
    }
  }

  /** The text of each of these shards, by its number, if there are so many in all. */
  #texts(numbers: readonly number[], count: number): ReadonlyMap<number, ShardText> {
    const { keyId, client } = this.#deps;
    const entries = new Map(numbers.map((n) => [n, [] as ShardEntry[]]));
    const lodgers = [...entries].flatMap(([n, own]) => {
      const keys = this.#lodgers.get(n);
      return keys ? [{ own, keys }] : [];
    });
    if (numbers.length > 0) {
      this.#collect((key) => {
        const home = entries.get(this.numberOf(key, count));
        const abroad = lodgers.filter(({ own, keys }) => own !== home && keys.has(key)).map(({ own }) => own);
        return { home, abroad };
      });
    }
    this.edition += 1;
    const word = {
      v: SHARD_FORMAT,
      key: keyId,
      alive: client.serverNow(),
      shards: count,
      edition: this.edition,
      ...this.#deps.heard(),
    } as const;
    const textOf = (n: number, own: readonly ShardEntry[]): ShardText =>
      shardText(n === 0 ? { ...word, holds: this.#current() } : word, own);
    return new Map([...entries].map(([n, own]) => [n, textOf(n, own)]));
  }

  /** The shards that hold all that is known, each with its version. */
  #current(): Record<string, string> {
    const current = this.#shards.flatMap(({ currentVersion }, n) =>
      n > 0 && currentVersion !== undefined ? [[n, currentVersion] as const] : [],
    );
    return Object.fromEntries(current);
  }

  /** Puts what is worth keeping of each workload into those shards that are written now and are to hold it. */
  #collect(shardsFor: (key: WorkloadKey) => Shards): void {
    const states = this.#deps.states();
    const { seen } = this.#deps.heard();
    for (const [key, state] of states) {
      const shards = shardsFor(key);
      if (!shards.home && shards.abroad.length === 0) continue;
      const own = [...state.applied].filter(([id]) => this.#deps.mayStore(id));
      const applied = { ...this.awaitedOf(key, state.workload.uid), ...Object.fromEntries(own) };
      const kept = keptWorkload(state, applied, seen);
      if (!state.workload.isRolledOut) this.#coming.add(key);
      else if (kept.coming) this.#outdate(key);
      if (Object.keys(applied).length > 0) put({ key, kept, waiting: [...state.waiting.keys()] }, shards);
    }
    for (const [key, kept] of this.entries) if (!states.has(key)) put({ key, kept }, shardsFor(key));
  }

  /** Tells of each workload that has become too large for its share, unless there are going to be more shards. */
  #noteCut({ cut, crowding }: ShardText, isHere: (key: WorkloadKey) => boolean): void {
    for (const key of this.#cut.keys()) {
      if (cut.has(key) || !isHere(key)) continue;
      this.#cut.delete(key);
      this.#told.delete(key);
    }
    const isFinal = crowding <= 1 || !this.#mayGrow;
    for (const [key, each] of cut) {
      if (!isHere(key)) continue;
      this.#cut.set(key, each);
      const workload = this.#deps.states().get(key)?.workload;
      if (!workload || !isFinal || this.#told.has(key)) continue;
      this.#told.add(key);
      this.#deps.tooLarge(workload, each.bytes);
    }
  }

  #outdate(key: WorkloadKey): void {
    for (const shard of this.#shardsOf(key)) shard.isOutdated = true;
  }

  #shardsOf(key: WorkloadKey): readonly ShardWriter[] {
    const own = [this.#shards, this.#growing ?? []].flatMap(
      (shards) => shards[this.numberOf(key, shards.length)] ?? [],
    );
    const others = [...this.#lodgers].flatMap(([n, keys]) => (keys.has(key) ? (this.#shards[n] ?? []) : []));
    return [...own, ...others];
  }
}

/** The shards that are written now and hold an entry: its own, and those where it is a lodger. */
interface Shards {
  readonly home: ShardEntry[] | undefined;
  readonly abroad: readonly ShardEntry[][];
}

function put(entry: ShardEntry, { home, abroad }: Shards): void {
  home?.push(entry);
  for (const shard of abroad) shard.push({ ...entry, isLodger: true });
}

/** A 409 passes too: another writer changed the shard twice in a moment. */
const isPassing = (failure: KubeError): boolean => isTransient(failure) || failure.status === 409;

const notKept = (status: number, detail: string): KubeError =>
  new KubeError({ verb: 'update', path: 'configmaps', status, reason: 'NotKept', detail });

const OTHER_LEADS = notKept(503, 'another replica leads');
