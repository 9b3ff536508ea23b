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

// The largest two objects that etcd stores, in one review, are half as large.
const MOST_PARSED_BYTES = 64 * 1024 ** 2;
// What V8 takes for a value at most, however short it is, by the character before it.
const PARSED_BYTES = new Map([
  ['{'.charCodeAt(0), 180],
  ['['.charCodeAt(0), 60],
  [','.charCodeAt(0), 90],
]);
// No JSON takes more for each of its characters.
const MOST_PER_BYTE = 61;

/** The request in the body of a review; or why it is none. Never throws, whatever the bytes. */
export function readReview(body: Buffer): { readonly request: AdmissionRequest } | BadRequest {
  if (parsedBytes(body) > MOST_PARSED_BYTES) {
    return { status: 413, message: `the body would take more than ${MOST_PARSED_BYTES} bytes of memory` };
  }
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

/**
 * The most that a body takes when it is parsed: seven megabytes of brackets would take the memory of ten controllers. Of a
 * small body it is a guess that is too high, and counting ends where a body is too large.
 */
export function parsedBytes(body: Buffer): number {
  let bytes = body.length * MOST_PER_BYTE;
  if (bytes <= MOST_PARSED_BYTES) return bytes;
  bytes = body.length;
  for (const [mark, cost] of PARSED_BYTES) {
    for (let at = body.indexOf(mark); at >= 0 && bytes <= MOST_PARSED_BYTES; at = body.indexOf(mark, at + 1)) {
      bytes += cost;
    }
  }
  return bytes;
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
