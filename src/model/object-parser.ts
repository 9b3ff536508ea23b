import { SAP_DISABLING_LABELS } from '../api/annotations.ts';
import type { JsonObject } from '../api/json.ts';
import type { WorkloadKind } from '../api/kinds.ts';
import type { DataObject, KubeObject, SecretProviderClassPodStatus } from '../api/objects.ts';
import type { SourceKind, SourceRef } from '../api/sources.ts';
import type { Intent, Problem } from '../domain/asks/ask.ts';
import { slipsIn } from '../domain/asks/slips.ts';
import type { Dialect } from '../domain/asks/workload-annotations.ts';
import { piecesOf } from '../domain/source/fingerprint.ts';
import type { Fingerprint, Source } from '../domain/source/source.ts';
import { metadataKeys, parseWorkload } from '../domain/workload/parse-workload.ts';
import { isRolledOut, revisionOf } from '../domain/workload/rollout.ts';
import { type Workload, type WorkloadKey, workloadKey } from '../domain/workload/workload.ts';
import type { Digest } from '../runtime/digest.ts';
import { TextCache } from '../runtime/text-cache.ts';
import type { FormerKey } from './ledger/former-key.ts';
import { createLabelSets } from './sources/label-sets.ts';
import type { ClassStatus } from './sources/provider-classes.ts';

export interface ParserOptions extends Dialect {
  readonly digest: Digest;
  readonly former?: FormerKey | undefined;
  /** Called for a workload whose record was written with the former key; it is parsed as if it were rewritten already. */
  readonly oldRecord?: ((key: WorkloadKey) => void) | undefined;
}

// No object can have a longer name, and each name that is read here is kept.
const MAX_NAME = 253;

/** A workload as it is kept, with the generation by which a version that only changes its status is known. */
export interface SeenWorkload {
  readonly workload: Workload;
  readonly generation: number | undefined;
  /** Digest of what slips depend on, beside what the workload and its generation show. */
  readonly slipFacts?: string | undefined;
}

/**
 * Turns objects of the API into what the model keeps of them. The bytes of sources end here.
 *
 * Strings that come with every object are kept once: a hundred thousand copies of a namespace's name add up.
 */
export function createObjectParser({ keys, compat, sapCompat, digest, former, oldRecord }: ParserOptions) {
  const texts = new TextCache<string>();
  const intern = (text: string): string => {
    const known = texts.get(text);
    if (known !== undefined) return known;
    texts.set(text, text);
    return text;
  };
  const labelSets = createLabelSets();
  const relevant = metadataKeys(keys);
  const dialect: Dialect = { keys, compat, sapCompat };

  const fingerprint = (of: SourceRef, object: KubeObject): Fingerprint =>
    digest.fingerprint(of, piecesOf(of.kind, object as DataObject));

  const source = (kind: SourceKind, object: KubeObject, full: boolean, previous: Source | undefined): Source => {
    const { name, namespace = '', uid, resourceVersion, annotations, labels } = object.metadata;
    const ref: SourceRef = previous?.ref ?? { kind, namespace: intern(namespace), name };
    const unchanged = previous?.resourceVersion === resourceVersion ? previous.fingerprint : undefined;
    return {
      ref,
      uid,
      resourceVersion,
      fingerprint: full ? fingerprint(ref, object) : unchanged,
      ...(full && { editedAt: editedAt(object), bornAt: object.metadata.creationTimestamp }),
      ignored: annotations?.[keys.ignore] === 'true',
      matchable: annotations?.[keys.match] === 'true',
      labels: labelSets(labels, previous?.labels),
    };
  };

  /** Nobody behind the parser has to know that there ever was another key. */
  const carriedOver = (kind: WorkloadKind, object: KubeObject): KubeObject => {
    const carried = former?.workload(object);
    const { namespace = '', name } = object.metadata;
    if (carried) oldRecord?.(workloadKey({ kind: kind.kind, namespace, name }));
    return carried ?? object;
  };

  const workload = (kind: WorkloadKind, found: KubeObject, previous?: SeenWorkload): SeenWorkload => {
    const object = carriedOver(kind, found);
    const { generation } = object.metadata;
    const slipFacts = digest.text(slipFactsOf(object));
    if (previous && isStatusOnly(kind, object, previous, slipFacts)) {
      const { resourceVersion } = object.metadata;
      const moved = { resourceVersion, revision: revisionOf(kind, object), isRolledOut: isRolledOut(kind, object) };
      return { workload: { ...previous.workload, ...moved }, generation, slipFacts };
    }
    return { workload: parseWorkload(kind, object, { ...dialect, digest: digest.text }), generation, slipFacts };
  };

  /** Most events of a workload are about its status, and a rollout brings many of them. */
  function isStatusOnly(kind: WorkloadKind, object: KubeObject, previous: SeenWorkload, slipFacts: string): boolean {
    const { uid, generation, annotations, labels } = object.metadata;
    const { workload: known } = previous;
    if (kind.effect === 'replace' || generation === undefined || generation !== previous.generation) return false;
    if (uid !== known.uid) return false;
    if (!relevant.every((key) => annotations?.[key] === known.annotations[key])) return false;
    if (!SAP_DISABLING_LABELS.every((key) => labels?.[key] === known.labels[key])) return false;
    // To look for slips in a list of 200,000 characters takes 0.2 s.
    return slipFacts === previous.slipFacts || isSame(slipsIn(kind, object, dialect), known.intent.problems);
  }

  const classStatus = (object: KubeObject): ClassStatus | undefined => {
    const status = object as SecretProviderClassPodStatus;
    // Without a class the driver has not filled it in yet.
    const { secretProviderClassName: className, objects } = status.status ?? {};
    // Upstream takes the first objects of a status for a change; they are what the pod starts with.
    const isEmpty = (objects ?? []).length === 0;
    if (!className || className.length > MAX_NAME || (isEmpty && !compat)) return undefined;
    const { namespace: found = '', resourceVersion } = object.metadata;
    const namespace = intern(found);
    // Of the class, whatever the status object of a pod is called: all pods of a class are compared with each other.
    const held = fingerprint({ kind: 'SecretProviderClass', namespace, name: className }, status);
    return { namespace, className, resourceVersion, fingerprint: held };
  };

  return { source, workload, classStatus };
}

/** Slips tell of annotations that no rule reads by their keys alone. */
function slipFactsOf({ metadata }: KubeObject): string {
  const { annotations = {}, labels, ownerReferences } = metadata as KubeObject['metadata'] & JsonObject;
  return JSON.stringify([Object.keys(annotations), labels, ownerReferences]);
}

/** Slips come after all other problems. */
function isSame(slips: Intent['problems'], before: Intent['problems']): boolean {
  const told = before.filter(({ isSlip }) => isSlip);
  const isTold = ({ path, message }: Problem, at: number) => told[at]?.path === path && told[at].message === message;
  return told.length === slips.length && slips.every(isTold);
}

export type ObjectParser = ReturnType<typeof createObjectParser>;

/** When its data was last written after its creation, if it was. */
function editedAt(object: KubeObject): string | undefined {
  const last = dataWrittenAt(object) ?? '';
  return last > (object.metadata.creationTimestamp ?? '') ? last : undefined;
}

/**
 * When the data of a source was last written. Who only wrote labels does not own the data; who only took something away is
 * not recorded by the server. Undefined: the server keeps nothing about the object's fields.
 */
export function dataWrittenAt({ metadata }: KubeObject): string | undefined {
  const { managedFields = [], creationTimestamp = '' } = metadata;
  let last = creationTimestamp;
  for (const { time = '', fieldsV1 = {} } of managedFields) {
    // RFC 3339 of one form: texts compare as times do.
    if (time > last && ('f:data' in fieldsV1 || 'f:binaryData' in fieldsV1)) last = time;
  }
  return managedFields.length === 0 ? undefined : last;
}
