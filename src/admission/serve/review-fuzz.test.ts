import { Agent } from 'node:https';
import { expect, test } from 'vitest';
import { damagedReview, giantReview, PIN } from '../../../test/support/admission-reviews.ts';
import { type Asked, post, servedAdmission } from '../../../test/support/admission-server.ts';
import type { Exchange } from '../../../test/support/scripted-api.ts';
import { startClient } from '../../../test/support/scripted-client.ts';
import { rounds } from '../../../test/support/soak.ts';
import { DEFAULT_KEYS } from '../../api/annotations.ts';
import { type JsonObject, objectIn } from '../../api/json.ts';
import { admit } from '../../domain/admission/admit.ts';
import type { AdmissionRequest, AdmissionRules } from '../../domain/admission/request.ts';
import type { JsonOperation } from '../../domain/template/json-patch.ts';
import { createObjectParser } from '../../model/object-parser.ts';
import { systemClock } from '../../runtime/clock.ts';
import { createDigest } from '../../runtime/digest.ts';
import { ADMISSION_METRICS } from '../../telemetry/metric-tables/admission.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { createLiveHash } from './live-hash.ts';

const BODIES = rounds(2000, 100_000);
// Each fiftieth is as large as they come.
const GIANT_EACH = 50;
// What a review may cost: reads, characters of the answer, and looks into the object, for each of what it has itself.
const MOST_READS = 4096;
const ANSWER_PER_BYTE = 4;
const LOOKS_PER_VALUE = 40;
const ROOM = 5000;

const RULES: AdmissionRules = {
  keys: DEFAULT_KEYS,
  compat: false,
  sapCompat: false,
  marks: true,
  autoReloadAll: false,
  ownUsername: undefined,
  isOwnHash: () => true,
};

/** In both modes in turn. */
const rulesFor = ({ uid }: AdmissionRequest): AdmissionRules => {
  const compat = uid.length % 2 === 0;
  return { ...RULES, compat, sapCompat: compat };
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

/** The same value, with a count of how often anything looked into it. */
function counted(value: unknown, count: () => void): unknown {
  const seen = new WeakMap<object, object>();
  const watched = (inner: unknown): unknown => {
    if (typeof inner !== 'object' || inner === null) return inner;
    const known = seen.get(inner) ?? new Proxy(inner, handler);
    seen.set(inner, known);
    return known;
  };
  const handler: ProxyHandler<object> = {
    get(target, member) {
      count();
      return watched(Reflect.get(target, member));
    },
    ownKeys(target) {
      count();
      return Reflect.ownKeys(target);
    },
  };
  return watched(value);
}

const looksOf = (request: AdmissionRequest): number => {
  let looks = 0;
  const count = (): void => {
    looks += 1;
  };
  admit(counted(request, count) as AdmissionRequest, rulesFor(request), { error: 'none' });
  return looks;
};

const valuesIn = (body: Buffer): number => body.toString('latin1').split(/[,{[]/).length;

/** Each third source cannot be read, each third is not there. */
const answer = (exchange: Exchange): void => {
  const name = exchange.path.slice(exchange.path.lastIndexOf('/') + 1);
  if (name.length % 3 === 0) exchange.status(500, 'InternalError');
  else if (name.length % 3 === 1) exchange.status(404, 'NotFound');
  else
    exchange.json(200, { metadata: { namespace: 'shop', name, uid: 'u', resourceVersion: '1' }, data: { pin: PIN } });
};

test(`${BODIES} reviews in all states of decay: a proper answer or a plain no to each, at a bounded cost, and no content in the log`, {
  timeout: 3_600_000,
}, async () => {
  const { client, api } = await startClient(answer);
  const digest = createDigest(Buffer.alloc(32, 7));
  const parser = createObjectParser({ ...RULES, digest });
  const deps = { client, parser, contentHash: digest, clock: systemClock, metrics: createMetrics(ADMISSION_METRICS) };
  const { port, lines, requests } = await servedAdmission({
    admit: (request, hash) => admit(request, rulesFor(request), hash),
    readHash: createLiveHash(deps),
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const seen = new Map<string, number>();
  const saw = (what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1);
  for (let seed = 1; seed <= BODIES; seed += 1) {
    const body = seed % GIANT_EACH === 0 ? giantReview(seed) : damagedReview(seed);
    const reply = await post(port, body, { agent });
    const about = `seed ${seed}, ${body.length} bytes`;
    const flaw = flawIn(reply);
    if (flaw) throw new Error(`${about}: ${flaw}: ${reply.status} ${reply.body.slice(0, 500)}`);
    // They are taken away: a hundred thousand reviews make more of them than need to be kept.
    const reads = (api.requests as Exchange[]).splice(0).length;
    expect(reads, about).toBeLessThanOrEqual(Math.min(MOST_READS, valuesIn(body)));
    expect(reply.body.length, about).toBeLessThanOrEqual(ANSWER_PER_BYTE * body.length + ROOM);
    for (const request of requests.splice(0)) {
      expect(looksOf(request), about).toBeLessThanOrEqual(LOOKS_PER_VALUE * valuesIn(body) + ROOM);
    }
    saw(reply.status === 200 ? String(/"allowed":\w+/.exec(reply.body)) : String(reply.status));
    if (reads > 0) saw('reads');
    const told = lines.splice(0).find((line) => line.includes(PIN) || line.length > 3000);
    if (told) throw new Error(`${about}: the log says ${told}`);
  }
  agent.destroy();
  // Else nothing was shown.
  for (const how of ['400', '"allowed":true', '"allowed":false', 'reads']) {
    expect(seen.get(how) ?? 0, how).toBeGreaterThan(BODIES / 20);
  }
});
