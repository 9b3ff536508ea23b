import { SOURCE_KINDS, type SourceKind } from '../../api/sources.ts';
import type { KindIntent, NamePattern } from '../asks/intent.ts';
import { parseBool } from '../text/parse-bool.ts';
import type { Workload } from '../workload/workload.ts';
import { curesOf } from './cure.ts';
import type { JudgedSource, NoReason, Policy, Verdict } from './verdict.ts';
import { type Question, ruleOfNo, yes } from './verdict-words.ts';

/** Whether a change of this source rolls this workload, and why. */
export function judge(workload: Workload, source: JudgedSource, policy: Policy): Verdict {
  const { kind, name } = source.ref;
  const use = workload.references.find((reference) => reference.kind === kind && reference.name === name);
  const question: Question = { workload, source, policy, intent: workload.intent.of[kind], use };
  for (const rule of RULES) {
    const verdict = rule(question);
    if (verdict !== undefined) return blocked(question, verdict);
  }
  return no(question, 'not-asked');
}

function no(question: Question, because: NoReason): Verdict {
  return {
    reload: false,
    because,
    rule: ruleOfNo(question, because),
    get cures() {
      return curesOf(question, because, judge);
    },
  };
}

/** Says yes, says no, or stays silent so that the next rule is asked. */
type Rule = (question: Question) => Verdict | undefined;

/** The order is the specification: the first rule that speaks wins. */
const RULES: readonly Rule[] = [
  (q) => (q.policy.ignoredKinds.has(q.workload.ref.kind) ? no(q, 'kind-ignored') : undefined),
  (q) => (q.source.ignored ? no(q, 'source-ignored') : undefined),
  (q) => (q.intent.excluded.includes(q.source.ref.name) ? no(q, 'excluded') : undefined),
  // Upstream's `auto: "false"` closes only the auto paths.
  (q) => (forbids(q.intent, q.policy) ? no(q, 'auto-false') : undefined),
  (q) => (q.workload.intent.onChange === 'ignore' ? no(q, 'on-change-ignore') : undefined),
  (q) => (isNamed(q) ? named(q) : undefined),
  (q) => (q.intent.search && q.source.matchable ? ifUsed(q, 'search-match') : undefined),
  (q) => (isTrue(q.intent.auto) ? ifUsed(q, 'auto') : undefined),
  (q) => (isTrue(q.intent.typedAuto) ? ifUsed(q, 'typed-auto') : undefined),
  (q) => (reloadsAll(q.intent, q.policy) ? ifUsed(q, 'auto-reload-all') : undefined),
  (q) => (q.intent.search ? no(q, 'search-without-match') : undefined),
];

const isTrue = (text: string): boolean => parseBool(text) === true;

const forbids = (intent: KindIntent, policy: Policy): boolean => !policy.compat && parseBool(intent.auto) === false;

const reloadsAll = (intent: KindIntent, policy: Policy): boolean =>
  policy.autoReloadAll && intent.auto === '' && intent.typedAuto === '';

function isNamed({ intent, source, policy }: Question): boolean {
  const { name } = source.ref;
  if (name === '') return policy.compat && namesNothing(intent);
  return intent.named.some((pattern) => pattern.matches?.(name));
}

/** Stakater: a missing list has one empty element, `^$`, which a status without a class name matches. */
const namesNothing = (intent: KindIntent): boolean => intent.namedText.split(',').some((text) => text.trim() === '');

/** Named is enough: what no container uses is marked in the first one. */
function named(question: Question): Verdict {
  if (question.workload.containers.length === 0) return no(question, 'not-used');
  return yes(question, 'named', question.use?.container ?? 0);
}

function ifUsed(question: Question, because: 'search-match' | 'auto' | 'typed-auto' | 'auto-reload-all'): Verdict {
  const container = question.use?.container;
  return container === undefined ? no(question, 'not-used') : yes(question, because, container);
}

/** An annotation that cannot be read and must not be guessed turns a yes into a no. */
function blocked(question: Question, verdict: Verdict): Verdict {
  const blocks = question.workload.intent.problems.some((problem) => problem.blocks);
  return verdict.reload && blocks ? no(question, 'invalid-annotation') : verdict;
}

/** Sources whose change could roll a workload: by name, and by patterns that have to be tried. */
export interface Interests {
  readonly literal: readonly { readonly kind: SourceKind; readonly name: string }[];
  readonly patterns: readonly { readonly kind: SourceKind; readonly pattern: NamePattern }[];
}

/** What a reverse index needs: `judge` says no to every source that is not among these. */
export function interests(workload: Workload, policy: Policy): Interests {
  const deaf =
    policy.ignoredKinds.has(workload.ref.kind) ||
    workload.intent.onChange === 'ignore' ||
    workload.containers.length === 0;
  const kinds = deaf ? [] : SOURCE_KINDS.filter((kind) => !forbids(workload.intent.of[kind], policy));
  return {
    literal: kinds.flatMap((kind) => knownNames(workload, kind, policy).map((name) => ({ kind, name }))),
    patterns: kinds.flatMap((kind) =>
      workload.intent.of[kind].named
        .filter((pattern) => pattern.literal === undefined && pattern.matches !== undefined)
        .map((pattern) => ({ kind, pattern })),
    ),
  };
}

function knownNames(workload: Workload, kind: SourceKind, policy: Policy): readonly string[] {
  const intent = workload.intent.of[kind];
  const names = new Set(intent.named.flatMap((pattern) => pattern.literal ?? []));
  if (kind === 'SecretProviderClass' && policy.compat && namesNothing(intent)) names.add('');
  if (asksForUsed(intent, policy)) {
    for (const use of workload.references) if (use.kind === kind && use.container !== undefined) names.add(use.name);
  }
  return [...names].filter((name) => !intent.excluded.includes(name));
}

function asksForUsed(intent: KindIntent, policy: Policy): boolean {
  return intent.search || isTrue(intent.auto) || isTrue(intent.typedAuto) || reloadsAll(intent, policy);
}
