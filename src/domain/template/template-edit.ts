import { CONFIG_HASH, LAST_RELOADED_FROM, NUDGE } from '../../api/annotations.ts';
import type { SourceRef } from '../../api/sources.ts';
import type { StakaterStrategy } from '../asks/ask.ts';
import { DELETE_MARK } from '../source/fingerprint.ts';
import type { Workload } from '../workload/workload.ts';
import { isMarkVariable, lastReloadedFrom, markIn, variableName } from './marks.ts';

/** The mark of Stakater's that a changed source is to leave in a template. */
export interface NewMark {
  readonly ref: SourceRef;
  /** The container that the verdict chose. */
  readonly container: number;
  readonly mark: string | 'deleted';
  readonly strategy: StakaterStrategy;
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

/** What is written to a pod template, whatever the kind and the sort of patch. Never empty. */
export interface TemplateEdit {
  readonly env: readonly EnvEdit[];
  readonly annotations: Readonly<Record<string, string>>;
  /** Stakater removes a variable with JSON Patch, whatever the kind; under compat so do we. */
  readonly jsonPatch: boolean;
}

export interface EditOptions {
  readonly compat: boolean;
  /** The mark of SAP's: one for all that changed and is listed. Undefined: nothing of that. */
  readonly configHash?: string | undefined;
  /** Seconds since the epoch. */
  readonly observedAt: number;
  /** Whether a source that the workload uses or names maps to this variable. */
  readonly usedOrNamed: (variable: string) => boolean;
  /**
   * A value that is new for each write, for templates that the marks alone would leave, or make, as they were before.
   * Undefined: then nothing is written, as upstream.
   */
  readonly nudge: string | undefined;
  /** Whether the workload has had the template before that an edit makes. */
  readonly isKnown?: ((edit: TemplateEdit) => boolean) | undefined;
}

/** The edit that writes these marks, in order; undefined if the template would stay as it is. */
export function editTemplate(
  workload: Workload,
  marks: readonly NewMark[],
  options: EditOptions,
): TemplateEdit | undefined {
  const fresh = marks.filter((mark) => !(options.compat && isKnownClass(workload, mark)));
  const by = (strategy: StakaterStrategy) => fresh.filter((mark) => mark.strategy === strategy);
  const env = envEdits(workload, by('env-vars'));
  const cause = causeOf(workload, by('annotations'), options.observedAt);
  const annotations = { ...cause, ...hashOf(workload, options) };
  const differs = env.length > 0 || Object.keys(annotations).length > 0;
  const left = options.compat ? [] : orphans(workload, env, options);
  const jsonPatch = options.compat && env.some((edit) => edit.value === undefined);
  const made = { env: [...env, ...left], annotations, jsonPatch };
  const isAsked = marks.length > 0 || options.configHash !== undefined;
  const nudge = isAsked ? nudgeFor(options) : undefined;
  if (nudge === undefined || (differs && !options.isKnown?.(made))) return differs ? made : undefined;
  if (!differs && workload.templateAnnotations[NUDGE] === nudge) return undefined;
  return { ...made, annotations: { ...annotations, [NUDGE]: nudge } };
}

/** Stakater has none. */
const nudgeFor = ({ compat, configHash, nudge }: EditOptions): string | undefined =>
  compat && configHash === undefined ? undefined : nudge;

const hashOf = ({ templateAnnotations }: Workload, { configHash }: EditOptions): Readonly<Record<string, string>> =>
  configHash === undefined || templateAnnotations[CONFIG_HASH] === configHash ? {} : { [CONFIG_HASH]: configHash };

/** Two sources can share a variable: then the last one counts. */
function envEdits(workload: Workload, marks: readonly NewMark[]): readonly EnvEdit[] {
  const edits = new Map<string, EnvEdit>();
  for (const { ref, container, mark } of marks) {
    const variable = variableName(ref.kind, ref.name);
    const view = workload.containers[container];
    const present = markIn(view, variable);
    const value = mark === 'deleted' ? undefined : mark;
    const edit = { container, containerName: view?.name ?? '', variable, value, index: present?.index };
    edits.set(`${container}/${variable}`, edit);
  }
  return [...edits.values()].filter(
    ({ container, variable, value }) => value !== markIn(workload.containers[container], variable)?.value,
  );
}

/** The annotation has room for one source only: the last. */
function causeOf(workload: Workload, marks: readonly NewMark[], observedAt: number): Readonly<Record<string, string>> {
  const last = marks.at(-1);
  if (last === undefined) return {};
  const mark = last.mark === 'deleted' ? DELETE_MARK : last.mark;
  const text = lastReloadedFrom(last.ref, mark, workload.containers[last.container]?.name ?? '', observedAt);
  return workload.templateAnnotations[LAST_RELOADED_FROM] === text ? {} : { [LAST_RELOADED_FROM]: text };
}

/** Variables that nobody needs any more are removed when the template is written anyway. */
function orphans(workload: Workload, env: readonly EnvEdit[], options: EditOptions): readonly EnvEdit[] {
  return workload.containers.flatMap((view, container) =>
    view.marks
      .filter((mark) => isMarkVariable(mark) && !options.usedOrNamed(mark.name))
      .filter((mark) => !env.some((edit) => edit.container === container && edit.variable === mark.name))
      .map(({ name, index }) => ({ container, containerName: view.name, variable: name, value: undefined, index })),
  );
}

/**
 * Stakater: every pod has a status of its class, so the same rotation is seen once per pod. From the second pod on it is
 * recognised by the variable in whichever container comes first, or by name and hash anywhere in the annotation.
 */
function isKnownClass(workload: Workload, { ref, mark, strategy }: NewMark): boolean {
  if (ref.kind !== 'SecretProviderClass' || mark === 'deleted') return false;
  if (strategy === 'annotations') {
    const text = workload.templateAnnotations[LAST_RELOADED_FROM] ?? '';
    return text !== '' && text.includes(ref.name) && text.includes(mark);
  }
  const variable = variableName(ref.kind, ref.name);
  const marks = workload.containers.flatMap((container) => markIn(container, variable) ?? []);
  return marks[0]?.value === mark;
}
