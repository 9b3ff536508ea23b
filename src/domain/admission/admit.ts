import { FIELD_MANAGER } from '../../api/field-manager.ts';
import { type JsonObject, objectAt, objectIn } from '../../api/json.ts';
import { WORKLOAD_KINDS, type WorkloadKind } from '../../api/kinds.ts';
import { isAskedFor } from './asked-for.ts';
import { decideHash } from './hash-decision.ts';
import { isObject, operationsOf } from './object-edit.ts';
import type { AdmissionRequest, AdmissionRules, Answer, CurrentHash, HashQuestion, Restored } from './request.ts';
import { type Restoration, restoreMarks } from './restored-marks.ts';

const NOTHING: Restored = { variables: 0, annotations: 0, record: 0 };
const UNTOUCHED: Answer = { allowed: true, operations: [], warnings: [], restored: NOTHING, hash: 'none' };

/**
 * What becomes of a write; or what has to be read before that can be said. Then it is asked again, with the hash. Whatever
 * the object is like, nothing throws.
 */
export function admit(request: AdmissionRequest, rules: AdmissionRules, hash?: CurrentHash): Answer | HashQuestion {
  if (request.subResource !== '') return UNTOUCHED;
  const { group, version, kind } = request.kind;
  const row = WORKLOAD_KINDS.find((each) => each.group === group && each.version === version && each.kind === kind);
  if (row === undefined) return denied(unsupported(request));
  if (!isObject(request.object)) return denied('the request has no object: what is written is expected');
  if (request.operation !== 'CREATE' && request.operation !== 'UPDATE') {
    return denied('this admission webhook may only be called for create/update operations');
  }
  // A template that cannot be changed needs no care.
  if (row.effect === 'replace') return denied(unsupported(request));
  if (isOwnWrite(request, rules)) return UNTOUCHED;
  if ([request.object, request.oldObject].some((each) => isOverAnnotated(row, objectIn(each)))) return UNTOUCHED;

  const restoration = restorationOf(row, request, rules);
  const decision = decideHash(row, request, rules, hash);
  if ('lists' in decision) return decision;
  if ('denied' in decision) return denied(decision.denied);
  const edit = {
    annotations: { ...restoration?.edit.annotations, ...decision.annotations },
    templateAnnotations: { ...restoration?.edit.templateAnnotations, ...decision.templateAnnotations },
    env: restoration?.edit.env ?? [],
  };
  return {
    allowed: true,
    operations: operationsOf(edit, objectIn(request.object), row.templatePath),
    warnings: warningsOf(restoration?.overruled ?? []),
    restored: restoration?.restored ?? NOTHING,
    hash: decision.hash,
  };
}

const denied = (message: string): Answer => ({ allowed: false, code: 400, message });

const unsupported = ({ kind: { group, version, kind } }: AdmissionRequest): string =>
  `webhook called with unsupported object kind: ${group}/${version}, Kind=${kind}`;

/** A person who means to remove a mark writes in our name. */
const isOwnWrite = ({ fieldManager, username }: AdmissionRequest, { ownUsername }: AdmissionRules): boolean =>
  fieldManager === FIELD_MANAGER || (ownUsername !== undefined && username === ownUsername);

// The API server refuses an object whose annotations are longer than this together: it asks us before it looks.
const MOST_ANNOTATIONS = 256 * 1024;

/** Whether nobody can store it, so that its annotations, of whatever length, need not be read. */
function isOverAnnotated({ templatePath }: WorkloadKind, object: JsonObject): boolean {
  return [[], templatePath].some((path) => {
    let length = 0;
    for (const [key, value] of Object.entries(objectAt(object, [...path, 'metadata', 'annotations']))) {
      length += key.length + (typeof value === 'string' ? value.length : 0);
    }
    return length > MOST_ANNOTATIONS;
  });
}

function restorationOf(
  kind: WorkloadKind,
  { operation, oldObject, object }: AdmissionRequest,
  rules: AdmissionRules,
): Restoration | undefined {
  if (!rules.marks || operation !== 'UPDATE') return undefined;
  const [old, sent] = [objectIn(oldObject), objectIn(object)];
  const restoration = restoreMarks(kind, old, sent);
  return restoration && isAskedFor(kind, old, sent, rules) ? restoration : undefined;
}

const LONGEST_NAME = 40;

/** Each is a line of kubectl's, which cuts long ones. Who merely does not know the marks is not told. */
function warningsOf(overruled: readonly string[]): readonly string[] {
  const [first, ...others] = new Set(overruled);
  if (first === undefined) return [];
  const name = first.length > LONGEST_NAME ? `${first.slice(0, LONGEST_NAME - 3)}...` : first;
  const more = others.length > 0 ? ` and ${others.length} more` : '';
  return [
    `Attune keeps the stored marks, not the ones sent here: ${name}${more}`,
    `to change or remove a mark on purpose, write with kubectl ... --field-manager=${FIELD_MANAGER}`,
  ];
}
