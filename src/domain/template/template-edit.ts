import { LAST_RELOADED_FROM, NUDGE } from '../../api/annotations.ts';
import type { SourceRef } from '../../api/sources.ts';
import type { Strategy } from '../asks/ask.ts';
import { DELETE_MARK } from '../source/fingerprint.ts';
import type { Workload } from '../workload/workload.ts';
import { isMarkVariable, lastReloadedFrom, markIn, variableName } from './marks.ts';

/** A source whose change a workload is to take. */
export interface Change {
  readonly ref: SourceRef;
  /** The container that the verdict chose. */
  readonly container: number;
  readonly mark: string | 'deleted';
}

/** One variable of one container. */
export interface EnvEdit {
  readonly container: number;
  readonly containerName: string;
  readonly variable: string;
  /** Undefined: the variable goes. */
  readonly value: string | undefined;
  /** Where it stands in the container's env now; undefined: it is not there yet. */
  readonly index: number | undefined;
}

/** What is written to a pod template, independent of the kind and of how it is written. Never empty. */
export interface TemplateEdit {
  readonly env: readonly EnvEdit[];
  readonly annotations: Readonly<Record<string, string>>;
  /** Upstream takes a variable out with JSON Patch, whatever the kind; under compat so do we. */
  readonly jsonPatch: boolean;
}

export interface EditOptions {
  readonly strategy: Strategy;
  readonly compat: boolean;
  /** Seconds since the epoch. */
  readonly observedAt: number;
  /** Whether a source that the workload uses or names maps to this variable. */
  readonly usedOrNamed: (variable: string) => boolean;
  /** Written where the marks alone would not make a template that never was before: new for each write. */
  readonly nudge: string;
  /** Whether the workload has had the template that an edit makes. */
  readonly isKnown?: ((edit: TemplateEdit) => boolean) | undefined;
}

/** The edit that brings changes to a workload, in order; undefined if the template would stay as it is. */
export function editTemplate(
  workload: Workload,
  changes: readonly Change[],
  options: EditOptions,
): TemplateEdit | undefined {
  const fresh = changes.filter((change) => !(options.compat && isKnownClass(workload, change, options.strategy)));
  const env = options.strategy === 'env-vars' ? envEdits(workload, fresh) : [];
  const annotations = options.strategy === 'annotations' ? causeOf(workload, fresh, options.observedAt) : {};
  const differs = env.length > 0 || Object.keys(annotations).length > 0;
  if (options.compat) {
    return differs ? { env, annotations, jsonPatch: env.some((edit) => edit.value === undefined) } : undefined;
  }
  if (!differs && (changes.length === 0 || workload.templateAnnotations[NUDGE] === options.nudge)) return undefined;
  const made = { env: [...env, ...orphans(workload, env, options)], annotations, jsonPatch: false };
  if (differs && !options.isKnown?.(made)) return made;
  return { ...made, annotations: { ...annotations, [NUDGE]: options.nudge } };
}

/** Of several changes of the same variable, as when two sources share its name, the last one counts. */
function envEdits(workload: Workload, changes: readonly Change[]): readonly EnvEdit[] {
  const edits = new Map<string, EnvEdit>();
  for (const { ref, container, mark } of changes) {
    const variable = variableName(ref.kind, ref.name);
    const present = markIn(workload.containers[container], variable);
    edits.set(`${container}/${variable}`, {
      container,
      containerName: workload.containers[container]?.name ?? '',
      variable,
      value: mark === 'deleted' ? undefined : mark,
      index: present?.index,
    });
  }
  return [...edits.values()].filter(
    (edit) => edit.value !== markIn(workload.containers[edit.container], edit.variable)?.value,
  );
}

/** Only the last cause is kept: each write replaces the one before. */
function causeOf(workload: Workload, changes: readonly Change[], observedAt: number): Readonly<Record<string, string>> {
  const last = changes.at(-1);
  if (last === undefined) return {};
  const mark = last.mark === 'deleted' ? DELETE_MARK : last.mark;
  const text = lastReloadedFrom(last.ref, mark, workload.containers[last.container]?.name ?? '', observedAt);
  return workload.templateAnnotations[LAST_RELOADED_FROM] === text ? {} : { [LAST_RELOADED_FROM]: text };
}

/** Variables that nobody needs any more go with a rollout that happens anyway. */
function orphans(workload: Workload, env: readonly EnvEdit[], options: EditOptions): readonly EnvEdit[] {
  return workload.containers.flatMap((view, container) =>
    view.marks
      .filter((mark) => isMarkVariable(mark) && !options.usedOrNamed(mark.name))
      .filter((mark) => !env.some((edit) => edit.container === container && edit.variable === mark.name))
      .map((mark) => ({
        container,
        containerName: view.name,
        variable: mark.name,
        value: undefined,
        index: mark.index,
      })),
  );
}

/**
 * Stakater: every pod has a status of the class, so the same rotation is seen once per pod. The second sight is known by
 * the variable in whichever container comes first, or by name and hash anywhere in the annotation.
 */
function isKnownClass(workload: Workload, { ref, mark }: Change, strategy: Strategy): boolean {
  if (ref.kind !== 'SecretProviderClass' || mark === 'deleted') return false;
  if (strategy === 'annotations') {
    const text = workload.templateAnnotations[LAST_RELOADED_FROM] ?? '';
    return text !== '' && text.includes(ref.name) && text.includes(mark);
  }
  const variable = variableName(ref.kind, ref.name);
  const holder = workload.containers.find((container) => markIn(container, variable) !== undefined);
  return markIn(holder, variable)?.value === mark;
}
