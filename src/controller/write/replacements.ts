import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import { replacementJob } from '../../domain/template/job.ts';
import type { TemplateEdit } from '../../domain/template/template-edit.ts';
import type { WorkloadRef } from '../../domain/workload/workload.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isTransient } from '../../kube/retry-transient.ts';
import { fullJitter, pause } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Replacement, ReplacementJournal } from './replacement-journal.ts';

export interface ReplacementsDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly journal: ReplacementJournal;
  readonly fieldManager: string;
  /** Ends the process; the end of a term is given to `resume`. */
  readonly signal: AbortSignal;
  /** It is deleted, or may be, and the next step does not succeed. */
  readonly stuck: (ref: WorkloadRef, error: KubeError) => void;
  /** What an earlier term began has ended, one way or the other. */
  readonly resumed: (ref: WorkloadRef) => void;
}

/** A Job is on its way out, and its successor comes by itself. */
interface Replacing {
  /** Resolves with the new Job; undefined: there is to be none any more. */
  readonly finished: Promise<KubeObject | undefined>;
  /** Undefined: it is finished. Else resolves when it takes longer than usual. */
  readonly late: Promise<KubeError> | undefined;
}

/** Until when deletions may begin, and until when what was deleted is created: that is worth some more time. */
interface Limits {
  readonly begin: AbortSignal;
  readonly finish: AbortSignal;
}

interface Begun {
  readonly finished: Replacing['finished'];
  /** Resolves as soon as there is something to wait for. */
  readonly waits: Promise<'waits'>;
}

const JOBS = kindNamed('Job') as WorkloadKind;
const BACKOFF = { baseMs: 1000, capMs: 60_000 };
// A deleted Job is usually gone at once; who has waited for it for long looks rarely.
const POLL_MS = { least: 100, most: 5000 };
// What takes longer than this is told.
const GONE_WITHIN_MS = 60_000;
// As long as writes in flight are waited for.
const FAREWELL_MS = 4000;

/**
 * Deletes Jobs and creates them anew. From the deletion on there is no way back: whatever the server says, the new one
 * is created as soon as it lets us, by this process or by the next.
 */
export class Replacements {
  readonly #deps: ReplacementsDeps;
  readonly #underWay = new Map<string, Replacing['finished']>();
  /** Ends the waits for a server that is back. */
  #recovery = new AbortController();
  readonly #process: Limits;
  #term: Limits;

  constructor(deps: ReplacementsDeps) {
    this.#deps = deps;
    this.#process = limitsOf(deps.clock, deps.signal);
    this.#term = this.#process;
    deps.client.onRecovery(() => {
      this.#recovery.abort();
      this.#recovery = new AbortController();
    });
  }

  /** Whether the Job with this uid is being replaced: whatever is to happen to it has to wait for that. */
  isUnderWay(uid: string): boolean {
    return this.#underWay.has(uid);
  }

  /** Resolves when none is under way. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#underWay.values());
  }

  /**
   * Throws as long as nothing is lost. Waits for answers and for nothing else: as soon as there is something to wait for,
   * a finalizer or a server that is out of breath, it goes on by itself.
   */
  async replace({ workload: { ref, uid, resourceVersion } }: WorkloadState, edit: TemplateEdit): Promise<Replacing> {
    const { client, clock, journal } = this.#deps;
    const job = await client.get<KubeObject>(JOBS, ref);
    // What was decided about a Job that runs must not be done to one that has finished meanwhile.
    if (job.metadata.resourceVersion !== resourceVersion) throw conflict(ref, 'the Job has moved on');
    const manifest = replacementJob(job, edit);
    await this.#proveAdmission(ref, manifest);
    const replacement = { ref, uid, resourceVersion, manifest };
    const { finished, waits } = this.#begin(replacement, await journal.begin(replacement));
    if ((await Promise.race([finished, waits])) !== 'waits') return { finished, late: undefined };
    const late = Promise.withResolvers<KubeError>();
    const callOff = clock.after(GONE_WITHIN_MS, () => late.resolve(stillThere(ref)));
    return { finished: finished.finally(callOff), late: late.promise };
  }

  /** A term begins: goes on with what an earlier one began, in this process or in another. */
  async resume(term: AbortSignal): Promise<void> {
    const { journal, resumed, clock } = this.#deps;
    this.#term = limitsOf(clock, term);
    for (const replacement of await journal.open()) {
      // Our own of an earlier term may still be about to give up.
      await this.#underWay.get(replacement.uid)?.catch(() => {});
      const ended = () => resumed(replacement.ref);
      this.#begin(replacement, true).finished.then(ended, ended);
    }
  }

  #begin(replacement: Replacement, isKept: boolean): Begun {
    const { promise: waits, resolve } = Promise.withResolvers<'waits'>();
    const wait = (ms: number, signal: AbortSignal): Promise<void> => {
      resolve('waits');
      return pause(this.#deps.clock, ms, signal);
    };
    const finished = this.#carryOut(replacement, isKept, wait).finally(() => this.#underWay.delete(replacement.uid));
    this.#underWay.set(replacement.uid, finished);
    // Whoever still waits is told; nobody else can do anything about it.
    finished.catch(() => {});
    return { finished, waits };
  }

  /** What the journal keeps, the next leader finishes. What it does not keep nobody else can, whoever leads by then. */
  async #carryOut(replacement: Replacement, isKept: boolean, wait: Wait): Promise<KubeObject | undefined> {
    const { journal, clock } = this.#deps;
    const { begin, finish } = this.#term;
    const step = { ref: replacement.ref, wait, signal: isKept ? finish : this.#process.finish };
    await this.#insist({ ...step, signal: begin }, isTransient, () => this.#delete(replacement));
    const since = clock.now();
    const successor = () => this.#successor(replacement);
    let job = await this.#insist(step, () => true, successor);
    while (job === 'not yet') {
      const waitedMs = clock.now() - since;
      await wait(Math.min(Math.max(waitedMs / 10, POLL_MS.least), POLL_MS.most), step.signal);
      job = await this.#insist(step, () => true, successor);
    }
    await this.#insist(step, isTransient, () => journal.close(replacement));
    return job;
  }

  /** Tries until it succeeds, or fails in a way that is not worth another try, or the signal is aborted. */
  async #insist<T>(
    { ref, wait, signal }: Step,
    isWorthIt: (error: KubeError) => boolean,
    work: () => Promise<T>,
  ): Promise<T> {
    for (let failures = 1; ; failures += 1) {
      try {
        signal.throwIfAborted();
        return await work();
      } catch (error) {
        if (signal.aborted || !KubeError.is(error) || !isWorthIt(error)) throw error;
        this.#deps.stuck(ref, error);
        const waitMs = Math.max(error.retryAfterMs ?? 0, fullJitter(failures, BACKOFF, Math.random));
        await wait(waitMs, AbortSignal.any([signal, this.#recovery.signal]));
      }
    }
  }

  async #delete(replacement: Replacement): Promise<void> {
    const { ref, uid, resourceVersion } = replacement;
    const { client, journal } = this.#deps;
    try {
      await client.delete(JOBS, ref, { uid, resourceVersion, propagation: 'Background' });
    } catch (error) {
      if (!KubeError.is(error) || isTransient(error)) throw error;
      if (error.status === 404) return;
      const present = error.status === 409 ? await this.#find(ref) : undefined;
      // Another one already, or on its way out: what remains is to see that there is a new one.
      if (error.status === 409 && (present?.metadata.uid !== uid || present.metadata.deletionTimestamp)) return;
      await journal.close(replacement);
      throw error;
    }
  }

  /** The one in its place; undefined: there need not be one. */
  async #successor({ ref, uid, manifest }: Replacement): Promise<KubeObject | 'not yet' | undefined> {
    const { client, fieldManager } = this.#deps;
    const present = await this.#find(ref);
    if (present) return present.metadata.uid === uid ? 'not yet' : present;
    try {
      return await client.create<KubeObject>(JOBS, ref.namespace, manifest, { fieldManager });
    } catch (error) {
      if (KubeError.is(error, 'AlreadyExists')) return await this.#find(ref);
      // Not found is the namespace: whoever deleted it did not want the Job either.
      if (KubeError.is(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /**
   * A Job that nobody would admit must not be deleted. The server checks everything before it notices that the name is
   * taken, so that answer is the proof.
   */
  async #proveAdmission(ref: WorkloadRef, manifest: unknown): Promise<void> {
    const { client, fieldManager } = this.#deps;
    try {
      await client.create(JOBS, ref.namespace, manifest, { fieldManager, dryRun: true });
    } catch (error) {
      if (!KubeError.is(error, 'AlreadyExists')) throw error;
    }
  }

  async #find(ref: WorkloadRef): Promise<KubeObject | undefined> {
    try {
      return await this.#deps.client.get<KubeObject>(JOBS, ref);
    } catch (error) {
      if (KubeError.is(error) && error.status === 404) return undefined;
      throw error;
    }
  }
}

function limitsOf(clock: Clock, signal: AbortSignal): Limits {
  const finish = new AbortController();
  const end = () => void clock.after(FAREWELL_MS, () => finish.abort());
  signal.addEventListener('abort', end, { once: true });
  return { begin: signal, finish: finish.signal };
}

type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

interface Step {
  readonly ref: WorkloadRef;
  readonly wait: Wait;
  readonly signal: AbortSignal;
}

function conflict({ namespace, name }: WorkloadRef, detail: string): KubeError {
  return new KubeError({ verb: 'delete', path: `jobs/${namespace}/${name}`, status: 409, reason: 'Conflict', detail });
}

function stillThere({ namespace, name }: WorkloadRef): KubeError {
  const detail = 'the deleted Job is still there: does one of its finalizers never go?';
  return new KubeError({ verb: 'delete', path: `jobs/${namespace}/${name}`, status: 408, reason: 'Timeout', detail });
}
