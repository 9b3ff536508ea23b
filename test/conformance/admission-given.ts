import { DEFAULT_KEYS } from '../../src/api/annotations.ts';
import type { JsonObject } from '../../src/api/json.ts';
import type { KindName } from '../../src/api/kinds.ts';
import { admit as decide } from '../../src/domain/admission/admit.ts';
import type {
  AdmissionRequest,
  AdmissionRules,
  Answer,
  CurrentHash,
  HashQuestion,
} from '../../src/domain/admission/request.ts';
import { applyPatch } from './apply-patch.ts';
import { type Given, objectOf, rowOf } from './given.ts';

/** What the lists hold, by content and by version. */
export const CONTENT = 'c0'.repeat(32);
export const VERSIONS = '5a'.repeat(32);
export const STALE = '01'.repeat(32);
/** By another program, an earlier version or another key: it cannot be compared. */
export const FOREIGN = '0f'.repeat(32);

export const rulesOf = (rules: Partial<AdmissionRules> = {}): AdmissionRules => ({
  keys: DEFAULT_KEYS,
  compat: false,
  sapCompat: false,
  marks: true,
  autoReloadAll: false,
  ownUsername: 'system:serviceaccount:attune:attune',
  isOwnHash: (hash) => hash === CONTENT || hash === STALE,
  ...rules,
});

/** An UPDATE if there is something stored. */
export function requestOf(
  object: unknown,
  oldObject?: unknown,
  also: Partial<AdmissionRequest> = {},
): AdmissionRequest {
  return {
    uid: 'r-1',
    kind: kindOf('Deployment'),
    operation: oldObject === undefined ? 'CREATE' : 'UPDATE',
    namespace: 'shop',
    subResource: '',
    object: object as JsonObject,
    oldObject: oldObject as JsonObject,
    username: 'jane',
    fieldManager: 'kubectl-replace',
    dryRun: false,
    ...also,
  };
}

export function kindOf(name: KindName): AdmissionRequest['kind'] {
  const { group, version, kind } = rowOf(name);
  return { group, version, kind };
}

/** A request about objects of one kind. */
export function writeOf(given: Given, old?: Given, also: Partial<AdmissionRequest> = {}): AdmissionRequest {
  const kind = given.kind ?? 'Deployment';
  const stored = old && objectOf({ kind, ...old });
  return requestOf(objectOf(given), stored, { kind: kindOf(kind), ...also });
}

export type ReadHash = (question: HashQuestion) => Promise<CurrentHash>;

/** What becomes of a write, with the hash read where it is asked for. */
export async function admit(request: AdmissionRequest, rules: AdmissionRules, readHash: ReadHash): Promise<Answer> {
  const first = decide(request, rules);
  if (!('lists' in first)) return first;
  const answer = decide(request, rules, await readHash(first));
  if ('lists' in answer) throw new Error('asked for the hash twice');
  return answer;
}

/** Answers what it is told, and counts how often it is asked. */
export function hashReader(
  answer: CurrentHash = { content: CONTENT, versions: VERSIONS },
): ReadHash & { reads: number } {
  const read = Object.assign(
    (): Promise<CurrentHash> => {
      read.reads += 1;
      return Promise.resolve(answer);
    },
    { reads: 0 },
  );
  return read;
}

export interface Admitted {
  readonly answer: Answer & { readonly allowed: true };
  /** The object as it is stored then. */
  readonly object: ReturnType<typeof objectOf>;
}

/** The request is allowed. The patch is applied as it goes over the wire. */
export async function admitted(
  request: AdmissionRequest,
  rules: Partial<AdmissionRules> = {},
  readHash: ReadHash = hashReader(),
): Promise<Admitted> {
  const answer = await admit(request, rulesOf(rules), readHash);
  if (!answer.allowed) throw new Error(`denied: ${answer.message}`);
  const body = JSON.parse(JSON.stringify(answer.operations)) as typeof answer.operations;
  return { answer, object: applyPatch(request.object, { type: 'json', body }) as Admitted['object'] };
}
