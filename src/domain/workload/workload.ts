import type { KindName } from '../../api/kinds.ts';
import type { SourceKind } from '../../api/sources.ts';
import type { Intent } from '../asks/ask.ts';

export interface WorkloadRef {
  readonly kind: KindName;
  readonly namespace: string;
  readonly name: string;
}

export type WorkloadKey = `${KindName}/${string}/${string}`;

export const workloadKey = (ref: WorkloadRef): WorkloadKey => `${ref.kind}/${ref.namespace}/${ref.name}`;

export function refOfKey(key: WorkloadKey): WorkloadRef {
  const [kind, namespace = '', name = ''] = key.split('/');
  return { kind: kind as KindName, namespace, name };
}

/** A source that the pod template names, and the first place in search order where it does. */
export interface Reference {
  readonly kind: SourceKind;
  readonly name: string;
  readonly via: 'volume' | 'env' | 'init-volume' | 'init-env' | 'image-pull-secret' | 'unmounted-volume';
  /** Index into `containers` of the container that gets the mark; undefined: no container uses it. */
  readonly container: number | undefined;
}

/** A variable with Stakater's name and a literal value. A reloader wrote it if the value is 40 hex digits. */
export interface MarkVar {
  readonly name: string;
  readonly value: string;
  /** Position within the container's env. */
  readonly index: number;
}

export interface ContainerView {
  readonly name: string;
  /** Whether `env` exists: a JSON Patch cannot append to a list that is not there. */
  readonly hasEnv: boolean;
  readonly marks: readonly MarkVar[];
}

/** An object with a pod template, of any kind, reduced to what the rules and the patch need. The object itself is dropped. */
export interface Workload {
  readonly ref: WorkloadRef;
  readonly uid: string;
  readonly resourceVersion: string;
  /** RFC 3339, by the server's clock. */
  readonly createdAt: string;
  /** Metadata annotations that a rule reads, and no others. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly hasAnnotations: boolean;
  /** Labels that a rule reads, and no others. */
  readonly labels: Readonly<Record<string, string>>;
  /** How many bytes of the server's limit for annotations are taken, our record not counted. */
  readonly annotationBytes: number;
  /** Pod-template annotations that a rule reads, all marks included. */
  readonly templateAnnotations: Readonly<Record<string, string>>;
  readonly hasTemplateAnnotations: boolean;
  readonly hasTemplateMetadata: boolean;
  readonly intent: Intent;
  readonly references: readonly Reference[];
  readonly containers: readonly ContainerView[];
  /** Digest of the pod template without any reloader's marks: changes only when somebody else edits the template. */
  readonly templateDigest: string;
  /** Digest of the whole pod template, marks included. */
  readonly fullTemplateDigest: string;
  /** Changes whenever the template does, even if it comes back to what it was; with some kinds also when it is scaled. */
  readonly revision: string;
  /** False while pods are being replaced: which of them have the data of a source that changes meanwhile is unknown. */
  readonly isRolledOut: boolean;
  readonly paused: boolean;
  readonly suspended: boolean;
  /** A Job that has completed or failed. */
  readonly finished: boolean;
  /** A Rollout without a template of its own: the Deployment it refers to. */
  readonly workloadRef: { readonly kind: string; readonly name: string } | undefined;
  /** The kind and name of the controlling owner, e.g. the CronJob of a Job. */
  readonly owner: { readonly kind: string; readonly name: string } | undefined;
}

/** Whether nothing changed that could change what its pods run with, or what it asks for: a scale, for example. */
export function isAlike(one: Workload, other: Workload): boolean {
  if (one.fullTemplateDigest !== other.fullTemplateDigest) return false;
  return isSame(one.annotations, other.annotations) && isSame(one.labels, other.labels);
}

function isSame(one: Workload['labels'], other: Workload['labels']): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}
