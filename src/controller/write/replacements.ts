import { FIELD_MANAGER } from '../../api/field-manager.ts';
import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import { replacementJob } from '../../domain/template/job.ts';
import type { TemplateEdit } from '../../domain/template/template-edit.ts';
import type { WorkloadRef } from '../../domain/workload/workload.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { isTransient } from '../../kube/retry-transient.ts';
import { fullJitter, pause } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { ControllerDeps } from '../controller.ts';
import type { Replacement, ReplacementJournal } from './replacement-journal.ts';

export interface ReplacementsDeps extends Pick<ControllerDeps, 'client' | 'clock'> {
  readonly journal: ReplacementJournal;
  /** Ends the process; the end of a term is given to `resume`. */
  readonly signal: AbortSignal;
  /** Called when a step fails and is tried again: before the Job is deleted, or after. */
  readonly stuck: (ref: WorkloadRef, error: KubeError) => void;
  /** What an earlier term began has ended, one way or the other. */
  readonly resumed: (ref: WorkloadRef) => void;
}

/** A replacement that has begun and goes on by itself. */
interface Replacing {
  /** Resolves with the new Job; undefined: somebody else deleted the Job or its namespace, so there is none. */
  readonly finished: Promise<KubeObject | undefined>;
  /** Undefined: it has finished. Else resolves when it takes unusually long. */
  readonly late: Promise<KubeError> | undefined;
}

const JOBS = kindNamed('Job') as WorkloadKind;
const BACKOFF = { baseMs: 1000, capMs: 60_000 };
// A deleted Job is usually gone at once. The longer it takes, the more rarely we look.
const POLL_MS = { least: 100, most: 5000 };
// What keeps a Job from being deleted, or a deleted one from being replaced, is reported after this time.
const LATE_MS = 60_000;
const STILL_THERE = 'the deleted Job is still there: does one of its finalizers never go?';
// How long replacements go on after the process was told to stop: as long as it waits for writes in flight.
const SHUTDOWN_MS = 4000;

/**
 * Deletes Jobs and creates them anew. After the deletion there is no way back: creating the new Job is retried until the
 * server accepts it, by this process or by the next. A Job that somebody else deletes first is not created again. Where
 * the DELETE may have been ours (its answer was lost, or the process that sent it is gone), the Job is created: one Job too
 * many is better than one lost.
 */
export class Replacements {
  readonly #deps: ReplacementsDeps;
  readonly #underWay = new Map<string, Replacing['finished']>();
  /** Aborted at the end of an outage, which ends all back-offs. */
  #recovery = new AbortController();
  readonly #process: ReturnType<typeof limitsOf>;
  #term: ReturnType<typeof limitsOf>;

  constructor(deps: ReplacementsDeps) {
    this.#deps = deps;
    this.#process = limitsOf(deps.clock, deps.signal);
    this.#term = this.#process;
    deps.client.onRecovery(() => {
      this.#recovery.abort();
      this.#recovery = new AbortController();
    });
  }

  /** Whether the Job with this uid is being replaced; until it has, nothing else may be done to it. */
  isUnderWay(uid: string): boolean {
    return this.#underWay.has(uid);
  }

  /** Resolves when none is under way. */
  async ended(): Promise<void> {
    await Promise.allSettled(this.#underWay.values());
  }

  /**
   * Throws if it fails before the deletion. Waits only for answers of the server: as soon as there is something else to wait
   * for, such as a finalizer or a back-off, it returns, and the replacement goes on by itself. `annotations` are ours, for
   * the new Job.
   */
  async replace(
    { workload: { ref, uid, resourceVersion } }: WorkloadState,
    edit: TemplateEdit,
    annotations: Readonly<Record<string, string>> = {},
  ): Promise<Replacing> {
    const { client, clock } = this.#deps;
    const job = await client.get<KubeObject>(JOBS, ref);
    // The decision was made about this version: meanwhile the Job may have finished.
    if (job.metadata.resourceVersion !== resourceVersion) throw failure(ref, 409, 'Conflict', 'the Job has moved on');
    if (job.metadata.deletionTimestamp) return { finished: Promise.resolve(undefined), late: undefined };
    const manifest = replacementJob(job, edit, annotations);
    await this.#proveAdmission(ref, manifest);
    const { finished, waits, progress } = this.#begin({ ref, uid, resourceVersion, manifest }, false);
    if ((await Promise.race([finished, waits])) !== 'waits') return { finished, late: undefined };
    const late = Promise.withResolvers<KubeError>();
    let cancel = (): void => {};
    const look = (): void => {
      const leftMs = progress.since + LATE_MS - clock.now();
      if (leftMs > 0) cancel = clock.after(leftMs, look);
      else late.resolve(progress.trouble);
    };
    look();
    return { finished: finished.finally(() => cancel()), late: late.promise };
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

  /** `waits` resolves at the first wait for something other than an answer. */
  #begin(replacement: Replacement, isResumed: boolean) {
    const { promise: waits, resolve } = Promise.withResolvers<'waits'>();
    const { clock } = this.#deps;
    const { ref, uid } = replacement;
    const progress: Progress = { mayBeSent: isResumed, since: clock.now(), trouble: stillThere(ref) };
    const wait = (ms: number, signal: AbortSignal): Promise<void> => {
      resolve('waits');
      return pause(clock, ms, signal);
    };
    const finished = this.#carryOut(replacement, progress, wait).finally(() => this.#underWay.delete(uid));
    this.#underWay.set(uid, finished);
    // Only who awaits `finished` gets the error; without this it could be an unhandled rejection.
    finished.catch(() => {});
    return { finished, waits, progress };
  }

  async #carryOut(replacement: Replacement, progress: Progress, wait: Wait): Promise<KubeObject | undefined> {
    const { journal, clock } = this.#deps;
    const { begin, finish } = this.#term;
    const first: Step = { ref: replacement.ref, progress, wait, signal: begin };
    const close = (step: Step): Promise<void> => this.#retry(step, mayKeep, () => journal.close(replacement));
    const isResumed = progress.mayBeSent;
    let isKept: boolean;
    let isOurs: boolean;
    try {
      // Until it succeeds: an entry that was written without an answer must not outlive a Job that nobody of us deleted.
      isKept = isResumed || (await this.#retry(first, mayKeep, () => journal.begin(replacement)));
      isOurs = await this.#retry(first, isTransient, () => this.#delete(replacement, progress));
    } catch (error) {
      // To the next process the entry would say that the Job is gone because of us.
      if (!progress.mayBeSent) await close({ ...first, signal: finish });
      throw error;
    }
    // What the journal keeps, the next leader finishes. What it does not keep nobody else can, whoever leads by then.
    const last: Step = { ...first, signal: isKept ? finish : this.#process.finish };
    progress.since = clock.now();
    const job = isOurs ? await this.#awaitSuccessor(replacement, last) : undefined;
    await close(last);
    return job;
  }

  async #awaitSuccessor(replacement: Replacement, step: Step): Promise<KubeObject | undefined> {
    const { clock } = this.#deps;
    const { progress, signal } = step;
    const successor = () => this.#successor(replacement);
    let job = await this.#retry(step, () => true, successor);
    while (job === 'not yet') {
      progress.trouble = stillThere(replacement.ref);
      const waitedMs = clock.now() - progress.since;
      await step.wait(Math.min(Math.max(waitedMs / 10, POLL_MS.least), POLL_MS.most), signal);
      job = await this.#retry(step, () => true, successor);
    }
    return job;
  }

  /** Tries until it succeeds, or fails in a way that is not worth another try, or the signal is aborted. */
  async #retry<T>(
    { ref, progress, wait, signal }: Step,
    mayRetry: (error: KubeError) => boolean,
    work: () => Promise<T>,
  ): Promise<T> {
    for (let failures = 1; ; failures += 1) {
      try {
        signal.throwIfAborted();
        return await work();
      } catch (error) {
        if (signal.aborted || !KubeError.is(error) || !mayRetry(error)) throw error;
        progress.trouble = error;
        this.#deps.stuck(ref, error);
        const waitMs = Math.max(error.retryAfterMs ?? 0, fullJitter(failures, BACKOFF, Math.random));
        await wait(waitMs, AbortSignal.any([signal, this.#recovery.signal]));
      }
    }
  }

  /** Whether this Job was deleted, or may have been, by us: only then is there another to be created. */
  async #delete(replacement: Replacement, progress: Progress): Promise<boolean> {
    const { ref, uid, resourceVersion } = replacement;
    try {
      await this.#deps.client.delete(JOBS, ref, { uid, resourceVersion, propagation: 'Background' });
      return true;
    } catch (error) {
      if (!KubeError.is(error)) throw error;
      if (isTransient(error)) {
        progress.mayBeSent ||= mayHaveArrived(error);
        throw error;
      }
      const { mayBeSent } = progress;
      if (error.status === 404) return mayBeSent;
      if ((error.status === 409 || mayBeSent) && (await this.#isGoneOrGoing(replacement))) return mayBeSent;
      // The Job is still there, and this server wants to keep it.
      progress.mayBeSent = false;
      throw error;
    }
  }

  async #isGoneOrGoing({ ref, uid }: Replacement): Promise<boolean> {
    const present = await this.#find(ref);
    return present?.metadata.uid !== uid || present.metadata.deletionTimestamp !== undefined;
  }

  /** The Job that replaces it, created if there is none; undefined: none is needed. */
  async #successor({ ref, uid, manifest }: Replacement): Promise<KubeObject | 'not yet' | undefined> {
    const present = await this.#find(ref);
    if (present) return present.metadata.uid === uid ? 'not yet' : present;
    try {
      return await this.#create(ref, manifest);
    } catch (error) {
      if (KubeError.is(error, 'AlreadyExists')) return await this.#find(ref);
      // It is the namespace that is not found: with it the Job was deleted on purpose.
      if (KubeError.is(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /**
   * A Job must not be deleted if admission would refuse the new one. The server runs admission before it finds that the name
   * is taken, so `AlreadyExists` means that it was admitted.
   */
  async #proveAdmission(ref: WorkloadRef, manifest: unknown): Promise<void> {
    try {
      await this.#create(ref, manifest, true);
    } catch (error) {
      if (!KubeError.is(error, 'AlreadyExists')) throw error;
    }
  }

  #create({ namespace }: WorkloadRef, manifest: unknown, dryRun = false): Promise<KubeObject> {
    return this.#deps.client.create<KubeObject>(JOBS, namespace, manifest, { fieldManager: FIELD_MANAGER, dryRun });
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

/** Until when deletions may begin, and until when what was deleted is created: that is worth some more time. */
function limitsOf(clock: Clock, signal: AbortSignal) {
  const finish = new AbortController();
  const end = () => void clock.after(SHUTDOWN_MS, () => finish.abort());
  signal.addEventListener('abort', end, { once: true });
  return { begin: signal, finish: finish.signal };
}

/** How far a replacement is. */
interface Progress {
  /** Whether a DELETE of ours may have reached the server, as far as its answers told. */
  mayBeSent: boolean;
  /** When it began; once the Job is deleted, when that was. */
  since: number;
  /** Why it is not further. */
  trouble: KubeError;
}

/** What asks to come back later or with another credential was not carried out. Of any other failure nobody can tell. */
const mayHaveArrived = ({ status }: KubeError): boolean => status !== 401 && status !== 429;

/** A write to the journal conflicts where many Jobs are replaced at once: they share one Secret. */
const mayKeep = (error: KubeError): boolean => isTransient(error) || error.status === 409;

type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

interface Step {
  readonly ref: WorkloadRef;
  readonly progress: Progress;
  readonly wait: Wait;
  readonly signal: AbortSignal;
}

const failure = ({ namespace, name }: WorkloadRef, status: number, reason: string, detail: string): KubeError =>
  new KubeError({ verb: 'delete', path: `jobs/${namespace}/${name}`, status, reason, detail });

const stillThere = (ref: WorkloadRef): KubeError => failure(ref, 408, 'Timeout', STILL_THERE);
