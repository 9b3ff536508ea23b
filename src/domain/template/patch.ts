import { type AnnotationKeys, RECORD } from '../../api/annotations.ts';
import type { WorkloadKind } from '../../api/kinds.ts';
import type { Workload } from '../workload/workload.ts';
import { type Beside, type JsonOperation, jsonPatch } from './json-patch.ts';
import type { TemplateEdit } from './template-edit.ts';

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
  const spec = extra.pause ? { paused: true } : extra.resume ? { paused: false } : {};
  if (kind.patch === 'json' || edit?.jsonPatch === true) {
    return { type: 'json', body: jsonPatch(kind, workload, edit, { annotations, spec }) };
  }
  // The path begins with `spec`, beside whose other members `paused` stands.
  const [, ...path] = kind.templatePath;
  const template = edit && path.reduceRight<object>((inner, member) => ({ [member]: inner }), templateOf(edit));
  const merged = { ...template, ...spec };
  const metadata = guarded(workload, annotations);
  return { type: 'strategic', body: Object.keys(merged).length > 0 ? { spec: merged, metadata } : { metadata } };
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

function guarded({ resourceVersion }: Workload, annotations: Beside['annotations']): object {
  return Object.keys(annotations).length > 0 ? { resourceVersion, annotations } : { resourceVersion };
}

/** Containers and variables are merged by name, so each is mentioned with its name and what changes. */
function templateOf({ annotations, env }: TemplateEdit): object {
  const containers = Object.values(Object.groupBy(env, (edit) => edit.container)).map((edits = []) => ({
    name: edits[0]?.containerName,
    env: edits.map(({ variable, value }) =>
      value === undefined ? { name: variable, $patch: 'delete' } : { name: variable, value },
    ),
  }));
  return {
    ...(Object.keys(annotations).length > 0 ? { metadata: { annotations } } : {}),
    ...(containers.length > 0 ? { spec: { containers } } : {}),
  };
}
