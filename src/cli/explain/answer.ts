import { kindNamed, type WorkloadKind } from '../../api/kinds.ts';
import type { SourceRef } from '../../api/sources.ts';
import type { Settings } from '../../config/settings.ts';
import { type Ask, type ConfigOrigin, originText, type Strategy } from '../../domain/asks/ask.ts';
import { type Action, actionFor, inactionOf } from '../../domain/judge/effect.ts';
import { judge } from '../../domain/judge/judge.ts';
import { markIn, variableName } from '../../domain/template/marks.ts';
import type { NotWatched } from '../../domain/watch-scope.ts';
import type { Workload } from '../../domain/workload/workload.ts';
import type { Snapshot } from '../../model/snapshot.ts';
import { withTemplateOf } from '../../model/verdicts.ts';
import { borrows, ruleOf } from '../cluster/borrowed-template.ts';

/** What a change of a source does to a workload, and why. */
export interface Answer {
  readonly rolls: boolean;
  /** A word of docs/reasons.md, or `not-watched`, or `nothing-to-do`. */
  readonly because: string;
  readonly rule: string;
  /** The ReloaderConfig that asked, and by which of its fields; undefined: somebody else did, or nobody. */
  readonly config: Omit<ConfigOrigin, 'by'> | undefined;
  /** What would make it a yes: one line for each thing that is in the way. */
  readonly cures: readonly string[];
  /** What a change makes Attune do. */
  readonly action: Action | undefined;
  /** The same for its creation, and for its deletion. */
  readonly ifCreated: Consequence;
  readonly ifDeleted: Consequence;
}

export interface Consequence {
  readonly rolls: boolean;
  readonly rule: string;
}

/** How a change is marked, and by whose wish. */
export interface Marking {
  /** Index of the container that gets a mark of Stakater's. */
  readonly container: number;
  readonly strategy: Strategy;
  /** Undefined: nobody asks. */
  readonly ask: Ask | undefined;
}

export type MarkedAnswer = Answer & { readonly marking: Marking };

/** The controller's own rules, asked about one source. */
export function answerTo(
  workload: Workload,
  ref: SourceRef,
  notWatched: readonly NotWatched[],
  { snapshot, settings }: { readonly snapshot: Snapshot; readonly settings: Settings },
): MarkedAnswer {
  const answer = unlessNotWatched(judged(workload, ref, snapshot, settings), notWatched);
  return { ...answer, ...lifecycleOf(answer, workload, ref, settings) };
}

type Verdict = Omit<MarkedAnswer, 'ifCreated' | 'ifDeleted'>;

/** What is not watched is not rolled, whatever the rules say; what they demand is still listed among the cures. */
function unlessNotWatched(verdict: Verdict, notWatched: readonly NotWatched[]): Verdict {
  const [first] = notWatched;
  if (!first) return verdict;
  const cures = [...notWatched.map(({ cure }) => cure), ...verdict.cures];
  return { ...verdict, rolls: false, because: 'not-watched', rule: first.rule, cures, action: undefined };
}

function judged(workload: Workload, ref: SourceRef, snapshot: Snapshot, settings: Settings): Verdict {
  const verdict = snapshot.verdicts.of(workload, ref);
  const { because } = verdict;
  if (!verdict.reload) {
    const { rule } = verdict;
    const use = workload.references.find(({ kind, name }) => kind === ref.kind && name === ref.name);
    const marking = { container: use?.container ?? 0, strategy: settings.reloadStrategy, ask: undefined };
    return { rolls: false, because, rule, config: undefined, cures: verdict.cures, action: undefined, marking };
  }
  const { container, strategy, ask } = verdict;
  const marking = { container, strategy, ask };
  const rule = ruleOf(askerOf(workload, ref, snapshot, settings), workload, verdict.rule);
  const action = actionFor(kindNamed(workload.ref.kind) as WorkloadKind, workload, [verdict], settings);
  const config = configOf(ask);
  if (action !== 'none') return { rolls: true, because, rule, config, cures: [], action, marking };
  const left = inactionOf(workload);
  return { rolls: false, because: 'nothing-to-do', rule: left.rule, config, cures: [left.cure], action, marking };
}

function configOf({ origin }: Ask): Answer['config'] {
  if (origin.by !== 'config') return undefined;
  const { namespace, name, path } = origin;
  return { namespace, name, path };
}

/** Whoever asks for the source: the workload itself, unless only a Rollout does that has borrowed its template. */
function askerOf(workload: Workload, ref: SourceRef, snapshot: Snapshot, policy: Settings): Workload {
  const source = { ref, ...snapshot.sources.flags(ref) };
  const asking = (each: Workload): Workload => snapshot.verdicts.asking(each);
  if (judge(asking(workload), source, policy).reload) return workload;
  const isAsking = (each: Workload): boolean =>
    borrows(each, workload.ref) && judge(withTemplateOf(asking(each), workload), source, policy).reload;
  return [...snapshot.workloads.values()].find(isAsking) ?? workload;
}

const LISTED = 'what SAP pod-reloader lists counts when it comes and when it goes';
const CLASSES = 'a SecretProviderClass is known by the pods that mount it, and is neither created nor deleted';

function lifecycleOf(
  { rolls, rule, marking: { container, strategy, ask } }: Verdict,
  workload: Workload,
  { kind, name }: SourceRef,
  settings: Settings,
): Pick<Answer, 'ifCreated' | 'ifDeleted'> {
  const both = (consequence: Consequence) => ({ ifCreated: consequence, ifDeleted: consequence });
  if (!rolls) return both({ rolls, rule });
  if (kind === 'SecretProviderClass') return both({ rolls: false, rule: CLASSES });
  if (strategy === 'config-hash') return both({ rolls: true, rule: LISTED });
  const ifCreated = consequenceOf('reloadOnCreate', ask, settings);
  const ifDeleted = consequenceOf('reloadOnDelete', ask, settings);
  // Upstream takes its variable away, and has nothing to do where it never was.
  const isMarked = markIn(workload.containers[container], variableName(kind, name)) !== undefined;
  const isInVain = ifDeleted.rolls && settings.compat && strategy === 'env-vars' && !isMarked;
  const inVain = { rolls: false, rule: 'there is no mark yet that Stakater Reloader would take away' };
  return { ifCreated, ifDeleted: isInVain ? inVain : ifDeleted };
}

const FLAGS = { reloadOnCreate: '--reload-on-create', reloadOnDelete: '--reload-on-delete' } as const;

/** As a ReloaderConfig says, else the flag. */
function consequenceOf(what: keyof typeof FLAGS, ask: Ask | undefined, settings: Settings): Consequence {
  const said = ask?.overrides[what];
  if (said !== undefined && ask?.origin.by === 'config') {
    return { rolls: said, rule: `${originText({ ...ask.origin, path: `spec.${what}` })}: ${said}` };
  }
  const isSet = settings[what];
  return { rolls: isSet, rule: isSet ? `${FLAGS[what]}=true` : `${FLAGS[what]} is not set` };
}
