import { kindNamed } from '../../api/kinds.ts';
import type { SourceKind } from '../../api/sources.ts';
import { namedIn } from '../asks/ask.ts';
import { listsWith } from '../asks/sap-annotations.ts';
import type { ListedSources } from '../config-hash/config-hash.ts';
import { actionFor } from '../judge/effect.ts';
import type { Policy } from '../judge/verdict.ts';
import { refOf } from '../ledger/source-id.ts';
import type { Change } from '../outcome/change.ts';
import type { WorkloadState } from '../state/workload-state.ts';
import { variableName } from '../template/marks.ts';
import { digestAfter } from '../template/template-digest.ts';
import { editTemplate, type NewMark, type TemplateEdit } from '../template/template-edit.ts';
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
  // Of what SAP's annotations list, the template has to tell.
  if (action === 'evict' && !listsOf(workload, changes)) return { do: 'evict', changes, now };
  const edit = editFor(state, changes, facts);
  // Upstream looks at the template even where it does not write it. What a config asks for, it does not know.
  const isUpstream = policy.compat && verdicts.some(({ ask }) => ask.overrides.rolloutStrategy === undefined);
  if (action === 'restart' && (edit || !isUpstream)) return { do: 'restart', changes, now };
  if (edit === undefined || action === 'restart') return { do: 'skip', changes, why: 'nothing-to-write' };
  if (action === 'patch' || action === 'evict') return { do: 'patch', changes, now, edit, isPaused };
  return action === 'run' ? { do: 'run', changes, now, edit } : { do: 'replace', changes, now, edit };
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
  { policy, shorten, now, configHash }: WriteFacts,
): TemplateEdit | undefined {
  const { workload } = state;
  const marks = changes.flatMap(({ ref, verdict, mark }): readonly NewMark[] => {
    const { strategy, container } = verdict;
    return strategy === 'config-hash' ? [] : [{ ref, container, mark: mark ?? 'deleted', strategy }];
  });
  const listed = listsOf(workload, changes);
  // Upstream writes what its marks make new, and nothing else; each dialect is asked for itself.
  const isUpstream = (marks.length === 0 || policy.compat) && (marks.length === changes.length || policy.sapCompat);
  const alive = new Set([...workload.references, ...namesOf(state)].map(({ kind, name }) => variableName(kind, name)));
  return editTemplate(workload, marks, {
    compat: policy.compat,
    configHash: listed && configHash(listed, workload.ref.namespace),
    observedAt: Math.floor(now / 1000),
    usedOrNamed: (variable) => alive.has(variable),
    nudge: isUpstream ? undefined : shorten(`${workload.uid} ${workload.resourceVersion}`),
    // Pods of a template that was there before may still be running, with the data of that time.
    isKnown: (edit) => state.templates.mayHaveHad(digestAfter(workload, edit, shorten)),
  });
}

/** All that this workload was rolled for or names: their variables are no orphans. */
function namesOf({ workload, applied }: WorkloadState): { readonly kind: SourceKind; readonly name: string }[] {
  const named = namedIn(workload.intent.asks).map(({ kind, pattern }) => ({ kind, name: pattern.text }));
  return [...named, ...Array.from(applied.keys(), (id) => refOf(id, workload.ref.namespace))];
}
