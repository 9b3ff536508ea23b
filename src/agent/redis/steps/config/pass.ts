import {
  after,
  type Change,
  dangerAtStart,
  dangerOf,
  isAllowed,
  isJudged,
  type ServerFacts,
  UNDECIDED,
} from '../../../../domain/redis/config/danger.ts';
import type { StartLine } from '../../../../domain/redis/config/start-line.ts';
import type { WantedConfig } from '../../../../domain/redis/config/wanted.ts';
import type { StepContext } from '../step.ts';
import type { AcceptedConfig } from './accepted-config.ts';
import type { Findings } from './findings.ts';
import type { KnownRefusals } from './known-refusals.ts';
import { readFacts, type ServerIdentity } from './running-server.ts';

/** What one pass over a running server works with. */
export interface Pass {
  readonly context: StepContext;
  readonly config: WantedConfig;
  readonly accepted: AcceptedConfig;
  readonly known: KnownRefusals;
  readonly server: ServerIdentity;
  /** The parameters as the pass finds them. */
  readonly running: ReadonlyMap<string, string>;
  readonly findings: Findings;
  readonly judge: Judge;
}

/** Judges changes by the numbers of the running server, which are asked for once, and only if they matter. */
export class Judge {
  readonly #context: StepContext;
  readonly #known: KnownRefusals;
  readonly #assumed: Change[] = [];
  #facts: ServerFacts | undefined;

  constructor(context: StepContext, known: KnownRefusals) {
    this.#context = context;
    this.#known = known;
  }

  /** Why a change must not be made; undefined: it does no harm, or somebody has allowed it. */
  async objection(change: Change & { readonly line?: StartLine | undefined }): Promise<string | undefined> {
    if (isAllowed(this.#context.cluster.allowDangerous, change.name)) return undefined;
    const always = dangerAtStart(change);
    if (always !== undefined) return always;
    if (!isJudged(change.name)) return undefined;
    const danger = dangerOf(change, await this.#read());
    if (danger === undefined || danger === UNDECIDED) return danger;
    return this.#known.sameDanger(change, danger);
  }

  /** The changes that follow are judged as if this one were made. */
  assume(change: Change): void {
    this.#assumed.push(change);
  }

  async #read(): Promise<ServerFacts> {
    this.#facts ??= await readFacts(this.#context.redis);
    return this.#assumed.reduce((facts, change) => after(change, facts), this.#facts);
  }
}
