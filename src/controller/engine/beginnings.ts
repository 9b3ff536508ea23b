import type { SourceRef } from '../../api/sources.ts';
import type { Policy, Verdict } from '../../domain/judge/verdict.ts';
import { type Applied, UNKNOWN } from '../../domain/ledger/applied.ts';
import type { WorkloadState } from '../../domain/state/workload-state.ts';
import { staysOpen } from '../../model/concerns.ts';
import { type Evidence, wishOf } from '../../model/evidence.ts';
import type { ReloaderConfigs } from '../../model/reloader-configs/reloader-configs.ts';
import type { SourceChange, SourceHistory } from '../../model/sources/source-history.ts';
import type { Verdicts } from '../../model/verdicts.ts';

/** What pods began with, of a source that we meet for the first time. */
export interface Beginning {
  readonly data: (state: WorkloadState, ref: SourceRef, verdict: Verdict) => Applied;
  /** What the source held up to this version is no change, however late it is told; undefined: the pods' age decides. */
  readonly version?: (state: WorkloadState, ref: SourceRef, verdict: Verdict) => number;
}

interface BeginningsDeps {
  readonly sources: SourceHistory;
  readonly policy: Policy;
  readonly configs: Pick<ReloaderConfigs, 'askedFrom'>;
  readonly verdicts: Pick<Verdicts, 'of'>;
}

export class Beginnings {
  readonly #evidence: Evidence;
  readonly #deps: BeginningsDeps;

  constructor(evidence: Evidence, deps: BeginningsDeps) {
    this.#evidence = evidence;
    this.#deps = deps;
  }

  /** Its pods are of this version. */
  asOf(version: number): Beginning {
    return { data: (_, ref) => this.#evidence.at(ref, version) };
  }

  /** At this version somebody began to ask. */
  asked(version: number): Beginning {
    const from = this.#askedFrom(version);
    return { version: from, data: (state, ref, verdict) => this.#evidence.at(ref, from(state, ref, verdict)) };
  }

  /** A listing shows a workload at this version. */
  found(version: number): Beginning {
    return { data: (state, ref) => this.#evidence.whenFound(state, ref, this.#evidence.at(ref, version)) };
  }

  /** A listing shows somebody who asks, at this version. What is not known from before our time is no reason to roll. */
  askFound(version: number): Beginning {
    const asked = this.asked(version);
    const current = (then: Applied, ref: SourceRef): Applied =>
      then === UNKNOWN ? this.#deps.sources.current(ref) : then;
    return { ...asked, data: (state, ref, verdict) => current(asked.data(state, ref, verdict), ref) };
  }

  /** A source has changed, at a version of its own. */
  changed(change: SourceChange, version: number): Beginning {
    return {
      data: (state, ref, verdict) =>
        this.#isNew(change, state, ref)
          ? change.after
          : this.#evidence.atChange(state, ref, {
              ...{ change, version, wish: wishOf(verdict, this.#deps.policy) },
              askedFrom: state.editedAt > 0 ? this.#askedFrom(state.editedAt)(state, ref, verdict) : 0,
            }),
    };
  }

  /**
   * Whether nobody asked for a source until now, because of its labels or annotations, and so nobody has read it: what it
   * holds as it becomes one that is asked for is no change, unless that may have been written in the same moment.
   */
  #isNew({ before, flagsBefore, unseenFrom }: SourceChange, { workload }: WorkloadState, ref: SourceRef): boolean {
    if (!flagsBefore || before !== UNKNOWN || unseenFrom !== undefined || this.#evidence.isOfOurTime(ref)) return false;
    return !staysOpen(this.#deps.verdicts.of(workload, ref, flagsBefore));
  }

  /** A workload that was there before us. */
  recalled(): Beginning {
    return {
      data: ({ workload }, ref, verdict) => this.#evidence.about(workload, ref, wishOf(verdict, this.#deps.policy)),
    };
  }

  /** We may have heard of a config and of the consent that it needs in any order: the later of the two counts. */
  #askedFrom(version: number): NonNullable<Beginning['version']> {
    return ({ workload }, ref, verdict) => {
      const origin = verdict.reload ? verdict.ask.origin : undefined;
      if (origin?.by !== 'config') return version;
      return Math.max(version, this.#deps.configs.askedFrom(origin, [workload.ref.namespace, ref.namespace]));
    };
  }
}
