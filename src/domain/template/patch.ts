import { type AnnotationKeys, RECORD } from '../../api/annotations.ts';
import type { WorkloadKind } from '../../api/kinds.ts';
import type { Workload } from '../workload/workload.ts';
import { type Beside, type JsonOperation, jsonPatch } from './json-patch.ts';
import type { EnvEdit, TemplateEdit } from './template-edit.ts';

/** What goes into the same write as the edit of the template. */
export interface PatchExtra {
  readonly keys: AnnotationKeys;
  /** Text of our record annotation. */
  readonly record?: string | undefined;
  readonly pause?: { readonly pausedAt: string } | undefined;
  readonly resume?: boolean | undefined;
  /** RFC 3339. An Argo Rollout restarts by it; the template stays untouched. */
  readonly restartAt?: string | undefined;
}

export type Patch =
  | { readonly type: 'strategic' | 'merge'; readonly body: Readonly<Record<string, unknown>> }
  | { readonly type: 'json'; readonly body: readonly JsonOperation[] };

/**
 * One write. It carries the resourceVersion that it was decided on, so that the server refuses it if the object has
 * changed meanwhile.
 */
export function patchOf(
  kind: WorkloadKind,
  workload: Workload,
  edit: TemplateEdit | undefined,
  extra: PatchExtra,
): Patch {
  const annotations = metadataAnnotations(workload, extra);
  if (extra.restartAt !== undefined) {
    return { type: 'merge', body: { spec: { restartAt: extra.restartAt }, metadata: guarded(workload, annotations) } };
  }
  const spec = pausedField(extra);
  if (kind.patch === 'json' || edit?.jsonPatch === true) {
    return { type: 'json', body: jsonPatch(kind, workload, edit, { annotations, spec }) };
  }
  return { type: 'strategic', body: strategicBody(kind, workload, edit, { annotations, spec }) };
}

/** Only an annotation that is there is taken away: JSON Patch fails otherwise. */
function metadataAnnotations(workload: Workload, extra: PatchExtra): Beside['annotations'] {
  const { pausedAt } = extra.keys;
  return {
    ...(extra.record === undefined ? {} : { [RECORD]: extra.record }),
    ...(extra.pause ? { [pausedAt]: extra.pause.pausedAt } : {}),
    ...(extra.resume && Object.hasOwn(workload.annotations, pausedAt) ? { [pausedAt]: null } : {}),
  };
}

function pausedField(extra: PatchExtra): Beside['spec'] {
  if (extra.pause) return { paused: true };
  return extra.resume ? { paused: false } : {};
}

function guarded(workload: Workload, annotations: Beside['annotations']): Record<string, unknown> {
  const { resourceVersion } = workload;
  return Object.keys(annotations).length > 0 ? { resourceVersion, annotations } : { resourceVersion };
}

function strategicBody(
  kind: WorkloadKind,
  workload: Workload,
  edit: TemplateEdit | undefined,
  also: Beside,
): Record<string, unknown> {
  const nested = edit === undefined ? {} : nest(kind.templatePath, templateOf(edit));
  const spec = { ...(nested['spec'] as Record<string, unknown> | undefined), ...also.spec };
  return {
    ...(Object.keys(spec).length > 0 ? { spec } : {}),
    metadata: guarded(workload, also.annotations),
  };
}

function templateOf(edit: TemplateEdit): Record<string, unknown> {
  return {
    ...(Object.keys(edit.annotations).length > 0 ? { metadata: { annotations: edit.annotations } } : {}),
    ...(edit.env.length > 0 ? { spec: { containers: containersOf(edit.env) } } : {}),
  };
}

/** Containers and variables are merged by name, so each is mentioned with its name and what changes. */
function containersOf(env: readonly EnvEdit[]): readonly unknown[] {
  return Object.values(Object.groupBy(env, (edit) => edit.container)).map((edits = []) => ({
    name: edits[0]?.containerName,
    env: edits.map(({ variable, value }) =>
      value === undefined ? { name: variable, $patch: 'delete' } : { name: variable, value },
    ),
  }));
}

function nest(path: readonly string[], value: unknown): Record<string, unknown> {
  return path.reduceRight<unknown>((inner, member) => ({ [member]: inner }), value) as Record<string, unknown>;
}
