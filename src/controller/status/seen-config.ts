import type { ReloaderConfigStatus } from '../../api/reloader-config/status-fields.ts';
import type { ConfigRef, ReloaderConfig } from '../../domain/reloader-config/config.ts';
import { statusText } from '../../domain/reloader-config/said-status.ts';
import type { WorkloadKey } from '../../domain/workload/workload.ts';
import { ReloadTally } from './reload-tally.ts';

/** What is known of a config's object, of its status, and of what we wrote there. */
export class SeenConfig {
  readonly ref: ConfigRef;
  readonly uid: string;
  readonly tally = new ReloadTally();
  /** By the clock of the process: since when there may be something to say; when we last said something. */
  touchedAt: number | undefined;
  writtenAt = Number.NEGATIVE_INFINITY;
  /** How many reloads of the tally our last write tells. */
  writtenReloads = 0;
  /** Whether hashes that another program left have been taken away. */
  isCleared = false;
  /** Targets that were there when it was last looked at. */
  present: ReadonlySet<WorkloadKey> = new Set();
  /** Exact names of sources. */
  names: readonly string[] = [];
  #resourceVersion: string;
  #generation: number;
  #isIgnored: boolean;
  #said: unknown;
  #saidText: string;
  /** What we last wrote, and what the server made of it. */
  #written: { readonly text: string; readonly answer: string } | undefined;

  constructor(config: ReloaderConfig, status: unknown) {
    this.ref = config.ref;
    this.uid = config.uid;
    this.#resourceVersion = config.resourceVersion;
    this.#generation = config.generation;
    this.#isIgnored = config.isIgnored;
    this.#said = status;
    this.#saidText = statusText(status);
    this.recall();
  }

  /** Goes on from what the status says. */
  recall(): void {
    this.tally.recall(this.#said);
    this.writtenReloads = 0;
  }

  /** Whether a reload was counted that no write of ours tells yet. */
  get hasNewReload(): boolean {
    return this.tally.sinceRecall !== this.writtenReloads;
  }

  get resourceVersion(): string {
    return this.#resourceVersion;
  }

  /** The status as the object has it. */
  get said(): unknown {
    return this.#said;
  }

  /** A newer version. True if there may be something to say about it. */
  seen({ resourceVersion, generation, isIgnored }: ReloaderConfig, status: unknown): boolean {
    const text = statusText(status);
    const isOther = generation !== this.#generation || isIgnored !== this.#isIgnored || text !== this.#saidText;
    this.#resourceVersion = resourceVersion;
    this.#generation = generation;
    this.#isIgnored = isIgnored;
    this.#said = status;
    this.#saidText = text;
    return isOther;
  }

  /**
   * Whether a status is to be written: the object says something else, and not because that is what the server made of it.
   * Another writer's fields, for example, are not ours to remove.
   */
  isNews(status: ReloaderConfigStatus): boolean {
    const text = statusText(status);
    if (text === this.#saidText) return false;
    return text !== this.#written?.text || this.#saidText !== this.#written.answer;
  }

  written(status: ReloaderConfigStatus, resourceVersion: string, answer: unknown): void {
    // The watch may have been faster, and with something newer.
    if (Number(resourceVersion) > Number(this.#resourceVersion)) {
      this.#resourceVersion = resourceVersion;
      this.#said = answer;
      this.#saidText = statusText(answer);
    }
    this.#written = { text: statusText(status), answer: statusText(answer) };
  }
}
