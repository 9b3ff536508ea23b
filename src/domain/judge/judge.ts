import { type Ask, ignores, type Refusal, refuses, type Wants } from '../asks/ask.ts';
import { matchesOne } from '../asks/name-pattern.ts';
import { isInForce } from '../asks/reload-all-flag.ts';
import { matches } from '../text/selector.ts';
import { referenceTo } from '../workload/references.ts';
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
  const { workload, source } = question;
  if (source.ignored) return no(question, 'source-ignored');
  const refusal = workload.intent.refusals.find((each) => refuses(each, source.ref.kind, source.ref.name));
  return refusal && no(question, refusal.because, refusal);
}

/** Only sources of the workload's own namespace can be used by a pod. */
function questionOf(workload: Workload, source: JudgedSource, policy: Policy): Question {
  const { kind, namespace, name } = source.ref;
  const isForeign = namespace !== undefined && namespace !== workload.ref.namespace;
  const use = isForeign ? undefined : referenceTo(workload.references, { kind, name });
  return { workload, source, policy, isForeign, use };
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
const MISSES = ['not-asked', 'search-without-match', 'not-used', 'left-out', 'disabled-by-label'] as const;
type Miss = (typeof MISSES)[number];

/** The container to be marked if this ask wants the source. */
function containerFor(ask: Ask, question: Question): number | Miss {
  const { wants, limits } = ask;
  const { workload, source, policy, use } = question;
  if (!isInForce(ask, policy) || !isWanted(wants, question)) return 'not-asked';
  if (isLeftOut(ask, question)) return 'left-out';
  if (ask.disabledBy) return 'disabled-by-label';
  // To be named is enough: what no container uses is marked in the first one.
  const isEnough = wants.what === 'named' || wants.what === 'selected';
  const isMissing = workload.containers.length === 0 || (limits?.mustBeUsed && !use);
  if (isEnough) return isMissing ? 'not-used' : (use?.container ?? 0);
  if (wants.what === 'search' && !source.matchable) return 'search-without-match';
  return use?.container ?? 'not-used';
}

/** Whether the source is of the kind, in one of the namespaces, and one of those that are named or selected. */
function isWanted(wants: Wants, { workload, source, isForeign }: Question): boolean {
  const { kind, name, namespace = workload.ref.namespace } = source.ref;
  if (wants.kind !== kind) return false;
  if (wants.what !== 'named' && wants.what !== 'selected') return !isForeign;
  if (wants.namespaces ? !wants.namespaces.includes(namespace) : isForeign) return false;
  return wants.what === 'named' ? matchesOne(wants.patterns, name) : matches(wants.selector, source.labels ?? {});
}

/** Whether a source is kept out though it is wanted. Whoever wants what is used does not want what is not. */
function isLeftOut({ wants, limits }: Ask, { workload, source, use }: Question): boolean {
  if (!limits || (wants.what === 'used' && !use)) return false;
  const { ref, labels = {} } = source;
  return ignores(limits, { namespace: workload.ref.namespace, ...ref }) || !matches(limits.labels, labels);
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
    // Worked out when they are read: a change is judged several times, and told once.
    get rule() {
      return ruleOfYes(question, ask);
    },
    get isSilent() {
      return isSilent(question, ask);
    },
    get askedSince() {
      return earliest(wanting(question));
    },
  };
}

/** One who wants an alert is enough: whoever may name the workloads of others could else hide what happens to them. */
function isSilent(question: Question, ask: Ask): true | undefined {
  return ask.isSilent && wanting(question).every((each) => each.isSilent) ? true : undefined;
}

/** All who ask for the source, of whom the first decides. */
const wanting = (question: Question): readonly Ask[] =>
  question.workload.intent.asks.filter((ask) => typeof containerFor(ask, question) === 'number');

/** Since when at least one of them asks; undefined: as long as the workload exists. */
export function earliest(asking: readonly { readonly askedSince?: string | undefined }[]): string | undefined {
  const times = asking.map(({ askedSince }) => askedSince);
  return times.includes(undefined) ? undefined : times.sort()[0];
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
