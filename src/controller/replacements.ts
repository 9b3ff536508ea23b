import { kindNamed, type WorkloadKind } from '../api/kinds.ts';
import type { KubeObject } from '../api/objects.ts';
import { replacementJob } from '../domain/job.ts';
import type { TemplateEdit } from '../domain/template-edit.ts';
import type { WorkloadRef } from '../domain/workload.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/kube-error.ts';
import { isTransient } from '../kube/patiently.ts';
import { fullJitter, pause } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Replacement, ReplacementJournal } from './replacement-journal.ts';
import type { WorkloadState } from './workload-state.ts';

export interface ReplacementsDeps {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly journal: ReplacementJournal;
  readonly fieldManager: string;
  readonly signal: AbortSignal;
  /** It is deleted, or may be, and the next step does not succeed. */
  readonly stuck: (ref: WorkloadRef, error: KubeError) => void;
}

const JOBS = kindNamed('Job') as WorkloadKind;
const BACKOFF = { baseMs: 1000, capMs: 60_000 };
// How long a deleted Job usually takes to disappear: its pods' finalizers go first.
const GONE_WITHIN_MS = 60_000;
const POLL_MS = 100;
const SLOW_POLL_MS = 5000;
// As long as writes in flight are waited for.
const FAREWELL_MS = 4000;

/**
 * Deletes Jobs and creates them anew. From the deletion on there is no way back: whatever the server says, the new one
 * is created as soon as it lets us, by this process or by the next.
 */
export class Replacements {
  readonly #deps: ReplacementsDeps;
  readonly #underWay = new Map<string, Promise<void>>();
  /** Ends some time after the process was told to go: what was deleted by then is worth another try. */
  readonly #last = new AbortController();

  constructor(deps: ReplacementsDeps) {
    this.#deps = deps;
    const end = () => void deps.clock.after(FAREWELL_MS, () => this.#last.abort());
    deps.signal.addEventListener('abort', end, { once: true });
  }

  /** Throws as long as nothing is lost; also when it takes too long to wait for, and then goes on by itself. */
  async replace({ workload: { ref, uid, resourceVersion } }: WorkloadState, edit: TemplateEdit): Promise<void> {
    const { client, clock, journal } = this.#deps;
    let replaced = this.#underWay.get(uid);
    if (!replaced) {
      const job = await client.get<KubeObject>(JOBS, ref);
      // What was decided about a Job that runs must not be done to one that has finished meanwhile.
      if (job.metadata.resourceVersion !== resourceVersion) throw conflict(ref, 'the Job has moved on');
      const manifest = replacementJob(job, edit);
      await this.#proveAdmission(ref, manifest);
      replaced = this.#begin(await journal.begin({ ref, uid, resourceVersion, manifest }));
    }
    const late = Promise.withResolvers<never>();
    const callOff = clock.after(GONE_WITHIN_MS, () => late.reject(stillThere(ref)));
    await Promise.race([replaced, late.promise]).finally(callOff);
  }

  /** Goes on with what an earlier process began. */
  async resume(): Promise<void> {
    for (const replacement of await this.#deps.journal.open()) void this.#begin(replacement);
  }

  #begin(replacement: Replacement): Promise<void> {
    const replaced = this.#carryOut(replacement).finally(() => this.#underWay.delete(replacement.uid));
    this.#underWay.set(replacement.uid, replaced);
    // Whoever still waits is told; nobody else can do anything about it.
    replaced.catch(() => {});
    return replaced;
  }

  async #carryOut(replacement: Replacement): Promise<void> {
    const { journal, clock } = this.#deps;
    const { signal } = this.#last;
    await this.#insist(replacement, isTransient, () => this.#delete(replacement), this.#deps.signal);
    const since = clock.now();
    while (
      !(await this.#insist(
        replacement,
        () => true,
        () => this.#isNew(replacement),
      ))
    ) {
      await pause(clock, clock.now() - since > GONE_WITHIN_MS ? SLOW_POLL_MS : POLL_MS, signal);
    }
    await this.#insist(replacement, isTransient, () => journal.close(replacement));
  }

  /** Tries until it succeeds, or fails in a way that is not worth another try, or the process ends. */
  async #insist<T>(
    { ref }: Replacement,
    isWorthIt: (error: KubeError) => boolean,
    work: () => Promise<T>,
    signal = this.#last.signal,
  ): Promise<T> {
    const { clock, stuck } = this.#deps;
    for (let failures = 1; ; failures += 1) {
      try {
        signal.throwIfAborted();
        return await work();
      } catch (error) {
        if (signal.aborted || !KubeError.is(error) || !isWorthIt(error)) throw error;
        stuck(ref, error);
        await pause(clock, Math.max(error.retryAfterMs ?? 0, fullJitter(failures, BACKOFF, Math.random)), signal);
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

  /** Whether there is another than the old one, or need not be. */
  async #isNew({ ref, uid, manifest }: Replacement): Promise<boolean> {
    const { client, fieldManager } = this.#deps;
    const present = await this.#find(ref);
    if (present) return present.metadata.uid !== uid;
    try {
      await client.create(JOBS, ref.namespace, manifest, { fieldManager });
    } catch (error) {
      // Not found is the namespace: whoever deleted it did not want the Job either.
      if (!KubeError.is(error, 'AlreadyExists', 'NotFound')) throw error;
    }
    return true;
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

function conflict({ namespace, name }: WorkloadRef, detail: string): KubeError {
  return new KubeError({ verb: 'delete', path: `jobs/${namespace}/${name}`, status: 409, reason: 'Conflict', detail });
}

function stillThere({ namespace, name }: WorkloadRef): KubeError {
  const detail = 'the deleted Job is still there: does one of its finalizers never go?';
  return new KubeError({ verb: 'delete', path: `jobs/${namespace}/${name}`, status: 408, reason: 'Timeout', detail });
}
