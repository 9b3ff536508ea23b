import { CONFIG_HASH, SAP_LISTS } from '../../api/annotations.ts';
import { canonicalText, type JsonObject, objectAt, objectIn, textIn } from '../../api/json.ts';
import type { WorkloadKind } from '../../api/kinds.ts';
import { withoutMarks } from '../template/template-digest.ts';
import { sapLists } from './asked-for.ts';
import { type AnnotationEdit, annotationIn, takesAnnotations } from './object-edit.ts';
import type { AdmissionRequest, AdmissionRules, CurrentHash, HashQuestion } from './request.ts';

export type HashDecision =
  | {
      readonly hash: 'set' | 'kept' | 'none';
      readonly annotations: AnnotationEdit;
      readonly templateAnnotations: AnnotationEdit;
    }
  | { readonly denied: string };

const MISMATCH = 'injected hash does not match calculated hash';
const NONE: HashDecision = { hash: 'none', annotations: {}, templateAnnotations: {} };

/** What is known about the hash before any source is read. */
interface HashCase {
  readonly annotations: JsonObject;
  /** The digest that the writer expects; undefined: it expects none. */
  readonly token: string | undefined;
  /** It goes with the write, also where it only is what another program left there. */
  readonly isTokenThere: boolean;
  /** The template's hash as it was sent, and as it is stored. */
  readonly sent: string | undefined;
  readonly stored: string | undefined;
  /**
   * Whether a stored hash can be told from the current one. Another one than ours (SAP's, an earlier version's, another key's)
   * cannot: to replace it would roll pods that may have the present data.
   */
  readonly isComparable: boolean;
  /** Whether pods are made, or replaced, whatever the hash; or the lists are new; SAP's program does not ask. */
  readonly isDue: boolean;
}

/**
 * Which config hash the pod template is to have; or, where that depends on the sources and `now` does not say, what to read.
 *
 * SAP pod-reloader sets the current one with every write, so that an innocent edit may roll the pods. By default the
 * stored one stays, unless a token asks for the current one or it is due anyway.
 */
export function decideHash(
  kind: WorkloadKind,
  request: AdmissionRequest,
  rules: AdmissionRules,
  now: CurrentHash | undefined,
): HashDecision | HashQuestion {
  const given = caseOf(kind, request, rules);
  if (given === undefined) return NONE;
  const { annotations, token, sent, stored, isComparable, isDue } = given;
  const mayBeCurrent = sent !== undefined && sent !== stored;
  if (!isDue && token === undefined && !mayBeCurrent) return decided(given, 'kept', stored);

  if (now === undefined) return questionOf(annotations, request);
  if ('error' in now) {
    const mustKnow = rules.sapCompat || token !== undefined;
    return mustKnow ? { denied: now.error } : decided(given, 'kept', stored);
  }
  const current = rules.sapCompat ? now.versions : now.content;
  if (token !== undefined && token !== current && token !== now.versions) return { denied: MISMATCH };
  // Else the controller, which knows what the pods have, rolls them where that is needed.
  const isAskedFor = token !== undefined && isComparable;
  return isDue || isAskedFor || sent === current ? decided(given, 'set', current) : decided(given, 'kept', stored);
}

function questionOf(annotations: JsonObject, { object, namespace }: AdmissionRequest): HashQuestion {
  const lists = Object.fromEntries(Object.values(SAP_LISTS).map((key) => [key, annotations[key]]));
  return { lists, namespace: textIn(objectAt(object, ['metadata'])['namespace']) || namespace };
}

/** Undefined where SAP's annotations ask for nothing. */
function caseOf(kind: WorkloadKind, request: AdmissionRequest, rules: AdmissionRules): HashCase | undefined {
  const object = objectIn(request.object);
  const old = request.operation === 'CREATE' ? {} : objectIn(request.oldObject);
  const template = objectAt(object, kind.templatePath);
  const oldTemplate = objectAt(old, kind.templatePath);
  const lists = sapLists(kind, object, rules);
  if (lists === undefined || !takesAnnotations(template)) return undefined;
  const annotations = objectAt(object, ['metadata', 'annotations']);
  const token = Object.hasOwn(annotations, CONFIG_HASH) ? textIn(annotations[CONFIG_HASH]) : undefined;
  // Where nobody took it off, it would refuse every later write, whoever makes it.
  const isLeftOver = !rules.sapCompat && token !== undefined && token === annotationIn(old, CONFIG_HASH);
  const stored = annotationIn(oldTemplate, CONFIG_HASH);
  return {
    annotations,
    token: isLeftOver ? undefined : token,
    isTokenThere: token !== undefined,
    sent: annotationIn(template, CONFIG_HASH),
    stored,
    isComparable: stored === undefined || rules.isOwnHash(stored),
    isDue:
      rules.sapCompat ||
      differ(lists, sapLists(kind, old, rules)) ||
      differ(withoutMarks(template), withoutMarks(oldTemplate)),
  };
}

const decided = ({ isTokenThere, sent }: HashCase, hash: 'set' | 'kept', wanted: string | undefined): HashDecision => ({
  hash,
  annotations: isTokenThere ? { [CONFIG_HASH]: undefined } : {},
  templateAnnotations: wanted === sent ? {} : { [CONFIG_HASH]: wanted },
});

const differ = (one: unknown, other: unknown): boolean => canonicalText(one) !== canonicalText(other);
