import { Agent } from 'node:https';
import { expect, test } from 'vitest';
import { damagedReview, PIN } from '../../../test/support/admission-reviews.ts';
import { type Asked, post, servedAdmission } from '../../../test/support/admission-server.ts';
import { rounds } from '../../../test/support/soak.ts';
import { DEFAULT_KEYS } from '../../api/annotations.ts';
import { type JsonObject, objectIn } from '../../api/json.ts';
import { admit as admitWrite } from '../../domain/admission/admit.ts';
import type { AdmissionRequest, AdmissionRules, Answer, ReadHash } from '../../domain/admission/request.ts';
import type { JsonOperation } from '../../domain/template/json-patch.ts';

const BODIES = rounds(2000, 100_000);
const AT_ONCE = 8;

const RULES: AdmissionRules = {
  keys: DEFAULT_KEYS,
  compat: false,
  sapCompat: false,
  marks: true,
  autoReloadAll: false,
  ownUsername: undefined,
};

let reads = 0;

/** Each third time the sources cannot be read. */
const readHash: ReadHash = async () => {
  reads += 1;
  return reads % 3 === 0
    ? { error: 'ConfigMap shop/app: no answer' }
    : { content: 'c'.repeat(64), versions: 'v'.repeat(64) };
};

/** In both modes in turn. */
const admit = (request: AdmissionRequest): Promise<Answer> => {
  const compat = request.uid.length % 2 === 0;
  return admitWrite(request, { ...RULES, compat, sapCompat: compat }, readHash);
};

/** Why a reply is none; undefined for a proper one. */
function flawIn({ status, headers, body }: Asked): string | undefined {
  if (status >= 400 && status < 500 && headers['content-type'] === 'text/plain' && body !== '') return undefined;
  if (status !== 200) return 'neither an answer nor a plain no';
  const { apiVersion, kind, response } = JSON.parse(body) as JsonObject;
  if (apiVersion !== 'admission.k8s.io/v1' || kind !== 'AdmissionReview') return 'no AdmissionReview';
  const { uid, allowed, warnings = [] } = objectIn(response);
  if (typeof uid !== 'string' || uid === '' || typeof allowed !== 'boolean') return 'no response';
  if (!Array.isArray(warnings) || !warnings.every((warning) => typeof warning === 'string')) return 'odd warnings';
  return allowed ? flawInPatch(objectIn(response)) : flawInDenial(objectIn(response));
}

function flawInDenial({ status, patch }: JsonObject): string | undefined {
  const { code, message } = objectIn(status);
  return typeof code === 'number' && typeof message === 'string' && patch === undefined ? undefined : 'odd denial';
}

function flawInPatch({ patch, patchType }: JsonObject): string | undefined {
  if (patch === undefined) return patchType === undefined ? undefined : 'a type without a patch';
  const operations = JSON.parse(Buffer.from(String(patch), 'base64').toString()) as readonly JsonOperation[];
  const isProper = ({ op, path }: JsonOperation): boolean => /^[a-z]+$/.test(op) && path.startsWith('/');
  const isPatch = patchType === 'JSONPatch' && operations.length > 0 && operations.every(isProper);
  return isPatch ? undefined : 'odd patch';
}

test(`${BODIES} reviews in all states of decay: a proper answer or a plain no to each, and no content in the log`, {
  timeout: 3_600_000,
}, async () => {
  const { port, lines, requests } = await servedAdmission({ admit });
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const seen = new Map<string, number>();
  const seeds = Array.from({ length: BODIES }, (_, index) => index + 1).values();
  const client = async (): Promise<void> => {
    for (const seed of seeds) {
      const reply = await post(port, damagedReview(seed), { agent });
      const flaw = flawIn(reply);
      if (flaw) throw new Error(`seed ${seed}: ${flaw}: ${reply.status} ${reply.body.slice(0, 500)}`);
      const how = reply.status === 200 ? String(/"allowed":\w+/.exec(reply.body)) : String(reply.status);
      seen.set(how, (seen.get(how) ?? 0) + 1);
      const told = lines.splice(0).find((line) => line.includes(PIN) || line.length > 3000);
      if (told) throw new Error(`about seed ${seed} the log says ${told}`);
      requests.length = 0;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  agent.destroy();
  // Else nothing was shown.
  for (const how of ['400', '"allowed":true', '"allowed":false']) {
    expect(seen.get(how) ?? 0, how).toBeGreaterThan(BODIES / 10);
  }
});
