import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { SOURCE_KINDS, type SourceKind } from '../../api/sources.ts';
import type { Settings } from '../../config/settings.ts';
import { namedIn } from '../../domain/asks/ask.ts';
import { type Action, actionFor, inactionOf } from '../../domain/judge/effect.ts';
import { interests } from '../../domain/judge/interests.ts';
import { judge } from '../../domain/judge/judge.ts';
import type { JudgedSource, Policy } from '../../domain/judge/verdict.ts';
import { pauseStep } from '../../domain/plan/pause.ts';
import { isMarkVariable, variableName } from '../../domain/template/marks.ts';
import { helmReleaseNotWatched } from '../../domain/watch-scope.ts';
import { parseWorkload } from '../../domain/workload/parse-workload.ts';
import type { Workload } from '../../domain/workload/workload.ts';
import { withTemplateOf } from '../../model/verdicts.ts';
import { annotationProblems } from '../cluster/annotation-problems.ts';
import { ruleOf } from '../cluster/borrowed-template.ts';

const ROLLOUTS = kindNamed('Rollout') as WorkloadKind;

/** What one reloader does with a change. `nothing` also stands for kinds that it does not know. */
export type Reaction = Exclude<Action, 'none'> | 'nothing';

/** One source whose change would be answered differently. */
export interface Difference {
  readonly source: { readonly kind: SourceKind; readonly name: string };
  readonly before: Reaction;
  readonly after: Reaction;
  /** The rule that decides from now on. */
  readonly because: string;
}

/** One workload under Stakater Reloader and under Attune. */
export interface Diagnosis {
  readonly workload: Workload['ref'];
  /** How many sources it is reloaded for under either of them. */
  readonly sources: number;
  readonly differences: readonly Difference[];
  /** What Attune would do about it at once, without any change of a source. */
  readonly atOnce: readonly string[];
  /** What is worth knowing and changes no decision. */
  readonly remarks: readonly string[];
}

export type SourceList = Readonly<Record<SourceKind, readonly JudgedSource[]>>;

interface Side {
  readonly workload: Workload;
  /** The workload, and Rollouts that have borrowed its template. */
  readonly asking: readonly Workload[];
  readonly policy: Policy;
  readonly knows: boolean;
  /** Why it does not see a source; undefined: it does. */
  readonly unseen: (source: JudgedSource) => string | undefined;
}

/** What a diagnosis goes by. */
interface Basis {
  readonly settings: Settings;
  readonly nowMs: number;
  /** Rollouts that have borrowed the template. */
  readonly borrowers: readonly KubeObject[];
}

/** Compares what the same change does under both. Pure, and the same rules that the controller follows. */
export function diagnose(kind: WorkloadKind, object: KubeObject, sources: SourceList, basis: Basis): Diagnosis {
  const { settings, nowMs } = basis;
  const before = sideOf(kind, object, basis, true);
  const unseen = ({ ref }: JudgedSource) => helmReleaseNotWatched(ref, settings)[0]?.rule;
  const after = { ...sideOf(kind, object, basis, settings.compat), unseen };
  const wrong = annotationProblems(kind, object, after.workload, settings);
  const answers = candidates(sources, [before, after]).map((source) => compare(kind, source, before, after));
  return {
    workload: after.workload.ref,
    sources: answers.filter(({ before: was, after: is }) => was !== 'nothing' || is !== 'nothing').length,
    differences: answers.filter(({ before: was, after: is }) => was !== is),
    atOnce: overduePause(after.workload, settings, nowMs),
    remarks: settings.compat ? wrong : [...elsewhere(after.workload), ...leftOver(after.workload, answers), ...wrong],
  };
}

function sideOf(kind: WorkloadKind, object: KubeObject, { settings, borrowers }: Basis, compat: boolean): Side {
  const { keys, sapCompat, autoReloadAll, ignoredKinds, reloadStrategy } = settings;
  const dialect = { keys, compat, sapCompat };
  const parse = (of: WorkloadKind, each: KubeObject) =>
    withoutLists(parseWorkload(of, each, { ...dialect, digest: () => '' }));
  const workload = parse(kind, object);
  // Reloader passes over a Rollout without a template of its own.
  const counting = compat ? [] : borrowers;
  const hasOwnTemplate = workload.workloadRef === undefined;
  return {
    workload,
    asking: [workload, ...counting.map((each) => withTemplateOf(parse(ROLLOUTS, each), workload))],
    policy: { ...dialect, autoReloadAll, ignoredKinds, reloadStrategy },
    unseen: () => undefined,
    knows: compat ? kind.kind !== 'DeploymentConfig' && hasOwnTemplate : hasOwnTemplate,
  };
}

/** SAP's lists are the matter of another report, which knows whether that program is there. */
const withoutLists = (workload: Workload): Workload => ({
  ...workload,
  intent: { ...workload.intent, asks: workload.intent.asks.filter(({ listed }) => listed === undefined) },
});

/** The sources that one side could react to: all others need not be asked about. */
function candidates(sources: SourceList, sides: readonly Side[]): readonly JudgedSource[] {
  const wanted = sides.flatMap(({ asking, policy }) => asking.map((each) => interests(each, policy)));
  return SOURCE_KINDS.flatMap((kind) =>
    sources[kind].filter(({ ref: { name } }) =>
      wanted.some(
        ({ literal, patterns }) =>
          literal.some((each) => each.kind === kind && each.name === name) ||
          patterns.some((each) => each.kind === kind && each.pattern?.matches?.(name)),
      ),
    ),
  );
}

function compare(kind: WorkloadKind, source: JudgedSource, before: Side, after: Side): Difference {
  const was = reactionOf(kind, source, before);
  const is = reactionOf(kind, source, after);
  const { kind: of, name } = source.ref;
  return { source: { kind: of, name }, before: was.reaction, after: is.reaction, because: is.because };
}

function reactionOf(kind: WorkloadKind, source: JudgedSource, { workload, asking, policy, knows, unseen }: Side) {
  const by = asking.find((each) => judge(each, source, policy).reload) ?? workload;
  const verdict = judge(by, source, policy);
  if (!verdict.reload) return { reaction: 'nothing', because: verdict.rule } as const;
  const hidden = unseen(source);
  if (hidden !== undefined) return { reaction: 'nothing', because: hidden } as const;
  if (!knows) return { reaction: 'nothing', because: 'it has no pod template of its own' } as const;
  const action = actionFor(kind, workload, [verdict], policy);
  if (action === 'none') return { reaction: 'nothing', because: inactionOf(workload).rule } as const;
  return { reaction: action, because: ruleOf(by, workload, verdict.rule) } as const;
}

/** Upstream forgets a pause when it is restarted; Attune ends it. */
function overduePause(workload: Workload, settings: Settings, nowMs: number): readonly string[] {
  const pausedAt = workload.annotations[settings.keys.pausedAt];
  const periodMs = workload.intent.overrides.pausePeriodMs;
  const step = pauseStep({ paused: workload.paused, pausedAt, periodMs }, nowMs);
  return step.do === 'resume' ? [`paused since ${pausedAt}, longer than asked: it is resumed, and rolls`] : [];
}

function elsewhere({ workloadRef }: Workload): readonly string[] {
  if (workloadRef === undefined) return [];
  const { kind, name } = workloadRef;
  return [`its pod template is that of ${kind} ${name}: Reloader skips it, Attune rolls that one`];
}

/** Variables that a reloader wrote for sources that are none of this workload's, and what becomes of them. */
function leftOver(workload: Workload, answers: readonly Difference[]): readonly string[] {
  const rolling = answers.filter(({ after }) => after !== 'nothing');
  const uses = [...workload.references, ...rolling.map(({ source }) => source)];
  const used = new Set(uses.map(({ kind, name }) => variableName(kind, name)));
  for (const { kind, pattern } of namedIn(workload.intent.asks)) used.add(variableName(kind, pattern.text));
  const left = workload.containers
    .flatMap(({ marks }) => marks.filter(isMarkVariable).map(({ name }) => name))
    .filter((name) => !used.has(name));
  if (left.length === 0) return [];
  const names = [...new Set(left)];
  const it = names.length === 1 ? ['it goes', 'it stays'] : ['they go', 'they stay'];
  return [`no source that it uses or names stands behind ${names.join(', ')}: ${fateOf(rolling, it)}`];
}

/** They go with a write of the template, and never by one of their own. */
function fateOf(rolling: readonly Difference[], [go, stay]: readonly string[]): string {
  if (rolling.length === 0) return `${stay}, as nothing rolls this workload`;
  const isWritten = rolling.some(({ after }) => after === 'patch' || after === 'replace');
  return isWritten ? `${go} with the next rollout` : `${stay}, as this template is not written to`;
}
