import { kindNamed } from '../../api/kinds.ts';
import type { SourceKind } from '../../api/sources.ts';
import { namedIn, type StakaterStrategy } from '../asks/ask.ts';
import { listsWith } from '../asks/sap-annotations.ts';
import type { ListedSources } from '../config-hash/config-hash.ts';
import { actionFor } from '../judge/effect.ts';
import type { Policy } from '../judge/verdict.ts';
import { refOf } from '../ledger/source-id.ts';
import type { Change } from '../outcome/change.ts';
import type { WorkloadState } from '../state/workload-state.ts';
import { variableName } from '../template/marks.ts';
import { digestAfter } from '../template/template-digest.ts';
import { editTemplate, type TemplateEdit } from '../template/template-edit.ts';
import type { Workload } from '../workload/workload.ts';
import type { Plan } from './plan.ts';

export interface WriteFacts {
  readonly policy: Policy;
  /** A short text that stands for a long one. */
  readonly shorten: (text: string) => string;
  /** Milliseconds since the epoch, by the server's clock. */
  readonly now: number;
  readonly isPaused: boolean;
  /** The config hash of what is listed, by all that is known of it. */
  readonly configHash: (listed: ListedSources, namespace: string) => string;
}

/** How changes that are due are brought to a workload: all of them in one write. */
export function planWrite(state: WorkloadState, changes: readonly Change[], facts: WriteFacts): Plan {
  const { policy, now, isPaused } = facts;
  const { workload } = state;
  const kind = kindNamed(workload.ref.kind);
  const verdicts = changes.map(({ verdict }) => verdict);
  if (!kind || verdicts.length === 0) return { do: 'nothing' };
  const action = actionFor(kind, workload, verdicts, policy);
  if (action === 'none') return { do: 'skip', changes, why: 'left-alone' };
  const strategy = strategyOf(changes, policy);
  // Of what SAP's annotations list, the template has to tell.
  if (action === 'evict' && !listsOf(workload, changes)) return { do: 'evict', changes, strategy, now };
  const edit = editFor(state, changes, strategy, facts);
  // Upstream looks at the template even where it does not write it. What a config asks for, it does not know.
  const isUpstream = policy.compat && verdicts.some(({ ask }) => ask.overrides.rolloutStrategy === undefined);
  if (action === 'restart' && (edit || !isUpstream)) return { do: 'restart', changes, strategy, now };
  if (edit === undefined || action === 'restart') return { do: 'skip', changes, why: 'nothing-to-write' };
  if (action === 'patch' || action === 'evict') return { do: 'patch', changes, strategy, now, edit, isPaused };
  return action === 'run'
    ? { do: 'run', changes, strategy, now, edit }
    : { do: 'replace', changes, strategy, now, edit };
}

/** One write has one of Stakater's strategies: that of whoever asked first. */
function strategyOf(changes: readonly Change[], policy: Policy): StakaterStrategy {
  for (const { verdict } of changes) if (verdict.strategy !== 'config-hash') return verdict.strategy;
  return policy.reloadStrategy;
}

/** What SAP's annotations list, if one of these changes is among it: whoever asked for that one, the digest is another. */
function listsOf({ intent }: Workload, changes: readonly Change[]): ListedSources | undefined {
  for (const { ref, verdict } of changes) {
    const listed = verdict.ask.listed ?? listsWith(intent, ref);
    if (listed) return listed;
  }
  return undefined;
}

function editFor(
  state: WorkloadState,
  changes: readonly Change[],
  strategy: StakaterStrategy,
  { policy, shorten, now, configHash }: WriteFacts,
): TemplateEdit | undefined {
  const { workload } = state;
  const marked = changes.filter(({ verdict }) => verdict.strategy !== 'config-hash');
  const listed = listsOf(workload, changes);
  // Upstream writes what its marks make new, and nothing else; each dialect is asked for itself.
  const isUpstream = (marked.length === 0 || policy.compat) && (marked.length === changes.length || policy.sapCompat);
  const alive = new Set([...workload.references, ...namesOf(state)].map(({ kind, name }) => variableName(kind, name)));
  return editTemplate(
    workload,
    marked.map(({ ref, verdict, mark }) => ({ ref, container: verdict.container, mark: mark ?? 'deleted' })),
    {
      strategy,
      compat: policy.compat,
      configHash: listed && configHash(listed, workload.ref.namespace),
      observedAt: Math.floor(now / 1000),
      usedOrNamed: (variable) => alive.has(variable),
      nudge: isUpstream ? undefined : shorten(`${workload.uid} ${workload.resourceVersion}`),
      // Pods of a template that was there before may still be running, with the data of that time.
      isKnown: (edit) => state.templates.mayHaveHad(digestAfter(workload, edit, shorten)),
    },
  );
}

/** All that this workload was rolled for or names: their variables are no orphans. */
function namesOf({ workload, applied }: WorkloadState): { readonly kind: SourceKind; readonly name: string }[] {
  const named = namedIn(workload.intent.asks).map(({ kind, pattern }) => ({ kind, name: pattern.text }));
  return [...named, ...Array.from(applied.keys(), (id) => refOf(id, workload.ref.namespace))];
}
