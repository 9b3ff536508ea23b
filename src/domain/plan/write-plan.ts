import { kindNamed } from '../../api/kinds.ts';
import type { SourceKind } from '../../api/sources.ts';
import { namedIn, type Strategy } from '../asks/ask.ts';
import { actionFor } from '../judge/effect.ts';
import type { Policy } from '../judge/verdict.ts';
import { refOf } from '../ledger/source-id.ts';
import type { Change } from '../outcome/change.ts';
import type { WorkloadState } from '../state/workload-state.ts';
import { variableName } from '../template/marks.ts';
import { digestAfter } from '../template/template-digest.ts';
import { editTemplate, type TemplateEdit } from '../template/template-edit.ts';
import type { Plan } from './plan.ts';

export interface WriteFacts {
  readonly policy: Policy;
  /** A short text that stands for a long one. */
  readonly shorten: (text: string) => string;
  /** Milliseconds since the epoch, by the server's clock. */
  readonly now: number;
  readonly isPaused: boolean;
}

/** How changes that are due are brought to a workload: all of them in one write. */
export function planWrite(state: WorkloadState, changes: readonly Change[], facts: WriteFacts): Plan {
  const { policy, now, isPaused } = facts;
  const { workload } = state;
  const kind = kindNamed(workload.ref.kind);
  const verdicts = changes.map(({ verdict }) => verdict);
  const [first] = verdicts;
  if (!kind || !first) return { do: 'nothing' };
  const action = actionFor(kind, workload, verdicts, policy);
  if (action === 'none') return { do: 'skip', changes, why: 'left-alone' };
  // One write has one strategy: that of whoever asked first.
  const { strategy } = first;
  const edit = editFor(state, changes, strategy, facts);
  // Upstream looks at the template even where it does not write it.
  if (action === 'restart' && (edit || !policy.compat)) return { do: 'restart', changes, strategy, now };
  if (edit === undefined || action === 'restart') return { do: 'skip', changes, why: 'nothing-to-write' };
  if (action === 'patch') return { do: 'patch', changes, strategy, now, edit, isPaused };
  return action === 'run'
    ? { do: 'run', changes, strategy, now, edit }
    : { do: 'replace', changes, strategy, now, edit };
}

function editFor(
  state: WorkloadState,
  changes: readonly Change[],
  strategy: Strategy,
  { policy, shorten, now }: WriteFacts,
): TemplateEdit | undefined {
  const { workload } = state;
  const alive = new Set([...workload.references, ...namesOf(state)].map(({ kind, name }) => variableName(kind, name)));
  return editTemplate(
    workload,
    changes.map(({ ref, verdict, mark }) => ({ ref, container: verdict.container, mark: mark ?? 'deleted' })),
    {
      strategy,
      compat: policy.compat,
      observedAt: Math.floor(now / 1000),
      usedOrNamed: (variable) => alive.has(variable),
      nudge: shorten(`${workload.uid} ${workload.resourceVersion}`),
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
