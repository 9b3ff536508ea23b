import {
  type AnnotationKeys,
  CONFIG_HASH,
  LAST_RELOADED_FROM,
  NUDGE,
  RECORD,
  SAP_DISABLING_LABELS,
  SAP_LISTS,
} from '../../api/annotations.ts';
import { type JsonObject, listIn, objectAt, objectIn, textIn } from '../../api/json.ts';
import type { WorkloadKind } from '../../api/kinds.ts';
import type { KubeObject } from '../../api/objects.ts';
import { parseIntent } from '../asks/parse-intent.ts';
import { askingKeys, ownKeys, slipsIn } from '../asks/slips.ts';
import type { Dialect } from '../asks/workload-annotations.ts';
import { isMarkName } from '../template/marks.ts';
import { digestTemplate } from '../template/template-digest.ts';
import { referencesOf } from './references.ts';
import { isRolledOut, revisionOf } from './rollout.ts';
import type { ContainerView, Workload } from './workload.ts';

export interface ParseOptions extends Dialect {
  /** A short stable digest of a text. */
  readonly digest: (text: string) => string;
}

/** Reduces an object to what rules and patches need. Whatever is missing or odd reads as empty; never throws. */
export function parseWorkload(kind: WorkloadKind, object: KubeObject, options: ParseOptions): Workload {
  const metadata = objectIn(object.metadata);
  const spec = objectIn(objectIn(object)['spec']);
  const template = objectAt(object, kind.templatePath);
  const templateMetadata = objectIn(template['metadata']);
  const annotations = pick(metadata['annotations'], metadataKeys(options.keys));
  const templateAnnotations = pick(templateMetadata['annotations'], templateKeys(options.keys));
  const labels = labelsIn(metadata['labels']);
  const intent = parseIntent(kind.kind, { annotations, templateAnnotations, labels }, options);
  const slips = slipsIn(kind, object, options);
  return {
    ref: { kind: kind.kind, namespace: textIn(metadata['namespace']), name: textIn(metadata['name']) },
    uid: textIn(metadata['uid']),
    resourceVersion: textIn(metadata['resourceVersion']),
    createdAt: textIn(metadata['creationTimestamp']),
    annotations,
    hasAnnotations: isObject(metadata['annotations']),
    labels,
    annotationBytes: bytesIn(objectIn(metadata['annotations'])),
    templateAnnotations,
    hasTemplateAnnotations: isObject(templateMetadata['annotations']),
    hasTemplateMetadata: isObject(template['metadata']),
    intent: slips.length === 0 ? intent : { ...intent, problems: [...intent.problems, ...slips] },
    references: referencesOf(template, options.compat),
    containers: listIn(objectIn(template['spec'])['containers']).map(containerView),
    ...digestTemplate(template, options.digest),
    revision: revisionOf(kind, object),
    isRolledOut: isRolledOut(kind, object),
    paused: spec['paused'] === true,
    suspended: spec['suspend'] === true,
    finished: kind.kind === 'Job' && isFinished(object),
    workloadRef: kind.kind === 'Rollout' ? refIn(spec['workloadRef']) : undefined,
    owner: refIn(listIn(metadata['ownerReferences']).find((owner) => objectIn(owner)['controller'] === true)),
  };
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The keys of a workload's own annotations that a rule reads. */
export const metadataKeys = (keys: AnnotationKeys): readonly string[] => [
  ...askingKeys(keys),
  ...ownKeys(keys),
  ...Object.values(SAP_LISTS),
];

const templateKeys = (keys: AnnotationKeys): readonly string[] => [
  ...askingKeys(keys),
  LAST_RELOADED_FROM,
  NUDGE,
  CONFIG_HASH,
];

const NO_LABELS: Workload['labels'] = {};

/** Next to no workload has one of them: those without share one object. */
function labelsIn(labels: unknown): Workload['labels'] {
  const all = objectIn(labels);
  return SAP_DISABLING_LABELS.some((key) => Object.hasOwn(all, key)) ? pick(all, SAP_DISABLING_LABELS) : NO_LABELS;
}

/** An upper bound: what is not ASCII takes up to three bytes a unit. */
function bytesIn(annotations: JsonObject): number {
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    if (key === RECORD) continue;
    const text = textIn(value);
    bytes += key.length + (/^[\0-\x7f]*$/.test(text) ? text.length : text.length * 3);
  }
  return bytes;
}

function pick(annotations: unknown, keys: readonly string[]): Readonly<Record<string, string>> {
  const all = objectIn(annotations);
  const picked: Record<string, string> = {};
  for (const key of keys) if (Object.hasOwn(all, key)) picked[key] = textIn(all[key]);
  return picked;
}

function containerView(container: unknown): ContainerView {
  const { name, env } = objectIn(container) as Record<string, unknown>;
  const marks = listIn(env).flatMap((entry, index) => {
    const variable = objectIn(entry);
    const named = textIn(variable['name']);
    if (!isMarkName(named) || objectIn(variable['valueFrom']) === variable['valueFrom']) return [];
    return [{ name: named, value: textIn(variable['value']), index }];
  });
  return { name: textIn(name), hasEnv: Array.isArray(env), marks };
}

function isFinished(object: KubeObject): boolean {
  return listIn(objectAt(object, ['status'])['conditions']).some((condition) => {
    const { type, status } = objectIn(condition) as Record<string, unknown>;
    return (type === 'Complete' || type === 'Failed') && status === 'True';
  });
}

function refIn(value: unknown): { readonly kind: string; readonly name: string } | undefined {
  const { kind, name } = objectIn(value) as Record<string, unknown>;
  return typeof kind === 'string' && typeof name === 'string' ? { kind, name } : undefined;
}
