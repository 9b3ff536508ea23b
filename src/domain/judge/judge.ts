import type { SourceKind } from '../../api/sources.ts';
import { type Ask, namedIn, type Refusal, refuses } from '../asks/ask.ts';
import { matchesOne, type NamePattern } from '../asks/name-pattern.ts';
import { isInForce } from '../asks/reload-all-flag.ts';
import type { Workload } from '../workload/workload.ts';
import { curesOf } from './cure.ts';
import type { JudgedSource, NoReason, Policy, Verdict } from './verdict.ts';
import { type Question, ruleOfNo, ruleOfYes } from './verdict-words.ts';

/** Whether a change of this source rolls this workload, and why. The order of the steps is the specification. */
export function judge(workload: Workload, source: JudgedSource, policy: Policy): Verdict {
  const question = questionOf(workload, source, policy);
  const { asks } = workload.intent;
  if (policy.ignoredKinds.has(workload.ref.kind)) return no(question, 'kind-ignored');
  const refused = refusalOf(question);
  if (!refused) return answer(question, asks);
  // SAP's program knows nothing of annotations that refuse.
  const saps = policy.sapCompat ? asks.filter(({ listed }) => listed) : [];
  const unheeding = answer(question, saps);
  return unheeding.because === 'not-asked' ? refused : unheeding;
}

function refusalOf(question: Question): Verdict | undefined {
  const { workload, source, isForeign } = question;
  if (source.ignored) return no(question, 'source-ignored');
  if (isForeign) return no(question, 'not-asked');
  const refusal = workload.intent.refusals.find((each) => refuses(each, source.ref.kind, source.ref.name));
  return refusal && no(question, refusal.because, refusal);
}

/** Annotations and flags are about the sources of the workload's own namespace, and only these can be used by a pod. */
function questionOf(workload: Workload, source: JudgedSource, policy: Policy): Question {
  const { kind, namespace, name } = source.ref;
  const isForeign = namespace !== undefined && namespace !== workload.ref.namespace;
  const use = workload.references.find((reference) => reference.kind === kind && reference.name === name);
  return { workload, source, policy, isForeign, use: isForeign ? undefined : use };
}

/** The first ask that wants the source decides. If there is none, the one that came closest is named. */
function answer(question: Question, asks: readonly Ask[]): Verdict {
  let because: Miss = 'not-asked';
  let closest: Ask | undefined;
  for (const ask of asks) {
    const found = containerFor(ask, question);
    if (typeof found === 'number') return yes(question, ask, found);
    if (MISSES.indexOf(found) > MISSES.indexOf(because)) {
      because = found;
      closest = ask;
    }
  }
  return no(question, because, closest);
}

/** Why an ask does not lead to a reload, the closest last. */
const MISSES = ['not-asked', 'search-without-match', 'not-used', 'disabled-by-label'] as const;
type Miss = (typeof MISSES)[number];

/** The container to be marked if this ask wants the source. */
function containerFor(ask: Ask, { workload, source, policy, use, isForeign }: Question): number | Miss {
  const { wants } = ask;
  const { kind, name } = source.ref;
  if (isForeign || wants.kind !== kind || !isInForce(ask, policy)) return 'not-asked';
  if (wants.what === 'named') {
    if (!matchesOne(wants.patterns, name)) return 'not-asked';
    if (ask.disabledBy) return 'disabled-by-label';
    // To be named is enough: what no container uses is marked in the first one.
    return workload.containers.length === 0 ? 'not-used' : (use?.container ?? 0);
  }
  if (wants.what === 'search' && !source.matchable) return 'search-without-match';
  return use?.container ?? 'not-used';
}

/** An annotation that cannot be read, and where a guess could do harm, turns a yes into a no. */
function yes(question: Question, ask: Ask, container: number): Verdict {
  if (question.workload.intent.problems.some((problem) => problem.blocks)) return no(question, 'invalid-annotation');
  return {
    reload: true,
    because: ask.because,
    container,
    ask,
    strategy: ask.overrides.strategy ?? question.policy.reloadStrategy,
    // Worked out when it is read: a change is judged several times, and told once.
    get rule() {
      return ruleOfYes(question, ask);
    },
  };
}

const no = (question: Question, because: NoReason, by?: Ask | Refusal): Verdict => new No(question, because, by);

/** Its words are worked out when they are read: after a change there can be thousands of these, and few are ever shown. */
class No {
  readonly reload = false;
  readonly because: NoReason;
  readonly #question: Question;
  readonly #by: Ask | Refusal | undefined;

  constructor(question: Question, because: NoReason, by: Ask | Refusal | undefined) {
    this.because = because;
    this.#question = question;
    this.#by = by;
  }

  get rule(): string {
    return ruleOfNo(this.#question, this.because, this.#by);
  }

  get cures(): readonly string[] {
    return curesOf(this.#question, this.because, judge);
  }
}

/** Sources whose change could roll a workload: by name, some more than once, and by patterns that have to be tried. */
export interface Interests {
  readonly literal: readonly { readonly kind: SourceKind; readonly name: string }[];
  readonly patterns: readonly { readonly kind: SourceKind; readonly pattern: NamePattern }[];
}

/** What a reverse index needs: `judge` says no to every source that is not among these. */
export function interests(workload: Workload, policy: Policy): Interests {
  const { intent, containers, references, ref } = workload;
  // One too many does no harm: as SAP, not everything that is refused is.
  const refusals = policy.sapCompat ? [] : intent.refusals;
  const isRefused = (kind: SourceKind, name?: string): boolean =>
    refusals.some((refusal) => refuses(refusal, kind, name));
  const isDeaf = policy.ignoredKinds.has(ref.kind) || containers.length === 0;
  const asks = isDeaf ? [] : intent.asks.filter((ask) => isInForce(ask, policy) && !isRefused(ask.wants.kind));
  const named = namedIn(asks);
  const used = asks.flatMap(({ wants: { what, kind } }) =>
    what === 'named' ? [] : references.filter((use) => use.kind === kind && use.container !== undefined),
  );
  const names = named.map(({ kind, pattern }) => ({ kind, name: pattern.literal }));
  return {
    literal: [...names, ...used].flatMap(({ kind, name }) =>
      name === undefined || isRefused(kind, name) ? [] : { kind, name },
    ),
    patterns: named.filter(({ pattern }) => pattern.literal === undefined && pattern.matches !== undefined),
  };
}
