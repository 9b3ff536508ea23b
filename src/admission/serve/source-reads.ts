import type { KubeObject } from '../../api/objects.ts';
import { SOURCE_RESOURCES } from '../../api/resources.ts';
import { type SourceRef, sourceKey } from '../../api/sources.ts';
import type { Source } from '../../domain/source/source.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { ObjectParser } from '../../model/object-parser.ts';
import { pause } from '../../runtime/backoff.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { AdmissionMetrics } from '../../telemetry/metric-tables/admission.ts';
import { FairShare } from './fair-share.ts';

export interface SourceReadsDeps {
  readonly client: Pick<KubeClient, 'read'>;
  readonly parser: Pick<ObjectParser, 'source'>;
  readonly clock: Clock;
  readonly metrics: Pick<AdmissionMetrics, 'increment'>;
}

/** In flight. One client has half, and that is half of our connections. */
const READS = 64;
// An API server that has not answered one read so long is slow. The next one is sent all the same.
const SLOW_MS = 500;

/** Why a read is called off that could still be in time: another one of its review has failed. */
export const NOT_NEEDED = new Error('the result is not needed any more');

/** Undefined: there is no such source. */
type Result = Source | undefined;

interface Read {
  readonly result: Promise<Result>;
  readonly calledOff: AbortController;
  /** Those of the reviews that wait for it. */
  readonly signals: Set<AbortSignal>;
}

/**
 * Reads sources from the API server, a bounded number at once, and each source at most once at a time for one client. All
 * reviews that ask before a read is sent share it. A later one needs the next read: what is under way may be older than
 * the write that it is about.
 */
export class SourceReads {
  readonly #deps: SourceReadsDeps;
  readonly #reads = new FairShare(READS);
  /** Not sent yet: they can be shared. */
  readonly #next = new Map<string, Read>();
  readonly #sent = new Map<string, Read>();

  constructor(deps: SourceReadsDeps) {
    this.#deps = deps;
  }

  /** Takes as long as the review has. Rejects with a KubeError, or the signal's reason. */
  read(client: string, ref: SourceRef, signal: AbortSignal): Promise<Result> {
    if (signal.aborted) return Promise.reject(signal.reason);
    const key = `${client} ${sourceKey(ref)}`;
    const read = this.#next.get(key) ?? this.#begin(client, key, ref);
    read.signals.add(signal);
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        read.signals.delete(signal);
        if (read.signals.size === 0) {
          if (this.#next.get(key) === read) this.#next.delete(key);
          read.calledOff.abort(signal.reason);
        }
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      const done = (): void => signal.removeEventListener('abort', leave);
      read.result.finally(done).then(resolve, reject);
    });
  }

  #begin(client: string, key: string, ref: SourceRef): Read {
    const calledOff = new AbortController();
    const run = async (): Promise<Result> => {
      // What was sent before comes first, unless it takes too long: then both are under way.
      const before = this.#sent.get(key)?.result.catch(() => undefined);
      if (before !== undefined) await Promise.race([before, pause(this.#deps.clock, SLOW_MS, calledOff.signal)]);
      const release = await this.#reads.take(client, 1, calledOff.signal);
      try {
        // When the time of a review is over its reads end one after the other, and each makes room for the next.
        if ([...read.signals].every(({ aborted }) => aborted)) calledOff.abort(NOT_NEEDED);
        calledOff.signal.throwIfAborted();
        this.#next.delete(key);
        this.#sent.set(key, read);
        return await this.#send(ref, calledOff.signal);
      } finally {
        if (this.#sent.get(key) === read) this.#sent.delete(key);
        release();
      }
    };
    const read: Read = { calledOff, signals: new Set(), result: Promise.resolve().then(run) };
    read.result.catch(() => {});
    this.#next.set(key, read);
    return read;
  }

  async #send(ref: SourceRef, signal: AbortSignal): Promise<Result> {
    const { client, parser, metrics } = this.#deps;
    const count = (result: string): void => metrics.increment('attune_admission_live_reads_total', { result });
    let found: Result;
    const take = (object: KubeObject): void => {
      found = parser.source(ref.kind, object, true, undefined);
    };
    try {
      await client.read(SOURCE_RESOURCES[ref.kind], ref, take, { signal });
    } catch (error) {
      // There is none: that is an answer.
      if (!KubeError.is(error) || error.status !== 404) {
        if (!signal.aborted) count('error');
        else if (signal.reason !== NOT_NEEDED) count('timeout');
        throw error;
      }
    }
    count('success');
    return found;
  }
}
