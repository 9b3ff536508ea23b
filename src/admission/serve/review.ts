import { type JsonObject, objectAt, objectIn, textIn } from '../../api/json.ts';
import type { AdmissionRequest, Answer } from '../../domain/admission/request.ts';
import { parseJson } from '../../kube/parse-json.ts';

/** An HTTP status that says no, and a sentence for whoever has sent the request. It quotes nothing of what was sent. */
export interface BadRequest {
  readonly status: number;
  readonly message: string;
}

const API_VERSION = 'admission.k8s.io/v1';
const KIND = 'AdmissionReview';

// Parsed, a value takes up to 120 bytes, however short it is. The largest objects that etcd stores have half as many.
const MOST_VALUES = 500_000;
// Before each value of a list and each member of an object stands one of these.
const BEFORE_VALUES = Buffer.from(',{[');

/** The request in the body of a review; or why it is none. Never throws, whatever the bytes. */
export function readReview(body: Buffer): { readonly request: AdmissionRequest } | BadRequest {
  if (hasTooManyValues(body)) return { status: 413, message: `the body has more than ${MOST_VALUES} JSON values` };
  const review = objectOrNone(parseJson(body.toString()));
  if (!review) return { status: 400, message: 'the body is not a JSON object' };
  if (review['kind'] !== KIND || review['apiVersion'] !== API_VERSION) {
    const hint =
      review['apiVersion'] === `${API_VERSION}beta1` ? ': the registration has to ask for v1, not v1beta1' : '';
    return { status: 400, message: `expected an ${KIND} of ${API_VERSION}${hint}` };
  }
  const request = objectOrNone(review['request']);
  if (!request) return { status: 400, message: `the ${KIND} has no request` };
  const uid = textIn(request['uid']);
  if (uid === '') return { status: 400, message: `the request of the ${KIND} has no uid` };
  return { request: requestOf(uid, request) };
}

/** Counted before parsing: seven megabytes of brackets would take the memory of ten controllers. */
function hasTooManyValues(body: Buffer): boolean {
  if (body.length <= MOST_VALUES) return false;
  let count = 0;
  for (const byte of BEFORE_VALUES) {
    for (let at = body.indexOf(byte); at >= 0; at = body.indexOf(byte, at + 1)) {
      count += 1;
      if (count > MOST_VALUES) return true;
    }
  }
  return false;
}

function requestOf(uid: string, request: JsonObject): AdmissionRequest {
  const kind = objectIn(request['kind']);
  const object = objectOrNone(request['object']);
  return {
    uid,
    kind: { group: textIn(kind['group']), version: textIn(kind['version']), kind: textIn(kind['kind']) },
    operation: textIn(request['operation']),
    namespace: textIn(request['namespace']) || textIn(objectAt(object, ['metadata'])['namespace']),
    subResource: textIn(request['subResource']),
    object,
    oldObject: objectOrNone(request['oldObject']),
    username: textIn(objectIn(request['userInfo'])['username']),
    fieldManager: textIn(objectIn(request['options'])['fieldManager']),
    dryRun: request['dryRun'] === true,
  };
}

const objectOrNone = (value: unknown): JsonObject | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;

/** The answer as the API server reads it. Throws only for operations that are no JSON, or too deep for it. */
export function writeReview(uid: string, answer: Answer): string {
  return JSON.stringify({ apiVersion: API_VERSION, kind: KIND, response: { uid, ...responseOf(answer) } });
}

function responseOf(answer: Answer): JsonObject {
  if (!answer.allowed) return { allowed: false, status: { code: answer.code, message: answer.message } };
  const { operations, warnings } = answer;
  return {
    allowed: true,
    ...(operations.length > 0 && {
      patchType: 'JSONPatch',
      patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
    }),
    ...(warnings.length > 0 && { warnings }),
  };
}
