import { describe, expect, test } from 'vitest';
import { CONFIG_HASH, NUDGE, SAP_LISTS } from '../../src/api/annotations.ts';
import { objectAt } from '../../src/api/json.ts';
import {
  admit,
  admitted,
  CONTENT,
  FOREIGN,
  hashReader,
  type ReadHash,
  rulesOf,
  STALE,
  VERSIONS,
  writeOf,
} from './admission-given.ts';
import { digestOf, listing, VECTORS } from './config-hash-vectors.ts';
import { type Given, HASH_A, objectOf } from './given.ts';

const LISTS = { [SAP_LISTS.ConfigMap]: 'app-config', [SAP_LISTS.Secret]: 'db,tls' };
const SAP = { sapCompat: true };
const MISMATCH = { allowed: false, code: 400, message: 'injected hash does not match calculated hash' };

const listed = (hash?: string, also: Partial<Given> = {}): Given => ({
  metadata: LISTS,
  ...(hash === undefined ? {} : { template: { [CONFIG_HASH]: hash } }),
  ...also,
});
const token = (value: string, hash?: string): Given => listed(hash, { metadata: { ...LISTS, [CONFIG_HASH]: value } });
const image = { pod: { containers: [{ name: 'app', image: 'v2' }] } };

const TEMPLATE_ANNOTATIONS = ['spec', 'template', 'metadata', 'annotations'];
const hashOf = (object: unknown) => objectAt(object, TEMPLATE_ANNOTATIONS)[CONFIG_HASH];
const tokenOf = (object: unknown) => objectAt(object, ['metadata', 'annotations'])[CONFIG_HASH];

async function hashAfter(given: Given, old: Given | undefined, rules: object = {}, readHash = hashReader()) {
  const { object, answer } = await admitted(writeOf(given, old), rules, readHash);
  return { hash: hashOf(object), told: answer.hash, reads: readHash.reads, operations: answer.operations.length };
}

describe('V1–V13 at birth', () => {
  test.each(VECTORS)('$id', async ({ digest, ...given }) => {
    const readHash: ReadHash = ({ namespace: where }) =>
      Promise.resolve({
        content: `by content, ${where}`,
        versions: digestOf({ ...given, namespace: where }, true) ?? '',
      });
    const { namespace = 'shop' } = given;
    const object = objectOf({ metadata: listing(given) });
    const request = (metadata: object) => ({
      ...writeOf({}),
      namespace,
      object: { ...object, metadata: { ...object.metadata, ...metadata } },
    });
    // A server may leave the namespace to the request.
    for (const metadata of [{ namespace }, { namespace: undefined }]) {
      expect(hashOf((await admitted(request(metadata), SAP, readHash)).object)).toBe(digest);
      expect(hashOf((await admitted(request(metadata), {}, readHash)).object)).toBe(`by content, ${namespace}`);
    }
  });

  test('V0: nothing listed, nothing hashed', async () => {
    for (const rules of [{}, SAP]) {
      const none = { metadata: { [SAP_LISTS.ConfigMap]: '', [SAP_LISTS.Secret]: '' } };
      expect(await hashAfter(none, undefined, rules)).toEqual({ told: 'none', reads: 0, operations: 0 });
    }
  });

  test('what is blank is a name only for SAP', async () => {
    const blank = { metadata: { [SAP_LISTS.ConfigMap]: ' , ' } };
    expect(await hashAfter(blank, undefined)).toMatchObject({ told: 'none', reads: 0 });
    expect(await hashAfter(blank, undefined, SAP)).toMatchObject({ hash: VERSIONS, told: 'set' });
  });
});

describe('as SAP pod-reloader: every write sets the current hash', () => {
  const set = (operations: number) => ({ hash: VERSIONS, told: 'set', reads: 1, operations });

  test.each<[string, Given, Given | undefined, number]>([
    ['at birth', listed(), undefined, 1],
    ['the writer left it out', listed(), listed(VERSIONS), 1],
    ['the writer sent an old one', listed(STALE), listed(VERSIONS), 1],
    ['only metadata was meant, and the sources have moved on', listed(STALE), listed(STALE), 1],
    ['the lists are new', listed(), {}, 1],
    ['nothing is to be done', listed(VERSIONS), listed(VERSIONS), 0],
  ])('%s', async (_, given, old, operations) => {
    expect(await hashAfter(given, old, SAP)).toEqual(set(operations));
  });

  test('labels are for the registration', async () => {
    const request = writeOf(listed());
    const labelled = { ...request.object, metadata: { ...objectOf(listed()).metadata, labels: DISABLED } };
    expect(hashOf((await admitted({ ...request, object: labelled }, SAP)).object)).toBe(VERSIONS);
  });

  test('without lists it stays, and so does a token', async () => {
    const gone = { metadata: { [CONFIG_HASH]: 'deadbeef' }, template: { [CONFIG_HASH]: STALE } };
    expect(await hashAfter(gone, listed(STALE), SAP)).toEqual({ hash: STALE, told: 'none', reads: 0, operations: 0 });
    expect(await hashAfter({}, listed(STALE), SAP)).toMatchObject({ hash: undefined, operations: 0 });
  });

  test('what cannot be read denies', async () => {
    const answer = await admit(writeOf(listed(), listed()), rulesOf(SAP), hashReader({ error: 'no answer' }));
    expect(answer).toEqual({ allowed: false, code: 400, message: 'no answer' });
  });

  test('only its own three kinds', async () => {
    for (const kind of ['CronJob', 'Rollout', 'DeploymentConfig'] as const) {
      expect(await hashAfter({ ...listed(), kind }, undefined, SAP)).toMatchObject({ told: 'none', reads: 0 });
    }
    for (const kind of ['StatefulSet', 'DaemonSet'] as const) {
      expect(await hashAfter({ ...listed(), kind }, undefined, SAP)).toMatchObject({ hash: VERSIONS });
    }
  });
});

const DISABLED = { 'pod-reloader.cs.sap.com/disabled': 'true' };

describe('by default the hash moves only when the pods do', () => {
  test.each<[string, Given, Given | undefined, number]>([
    ['at birth', listed(), undefined, 1],
    ['at birth, from a dump', listed(STALE), undefined, 1],
    ['the lists are new', listed(), {}, 1],
    ['the lists are edited', listed(STALE), { ...listed(STALE), metadata: { [SAP_LISTS.Secret]: 'db,tls' } }, 1],
    ['the image is new', listed(STALE, image), listed(STALE), 1],
    ['the image is new, and the hash left out', listed(undefined, image), listed(STALE), 1],
    ['it was sent as it is now', listed(CONTENT), listed(STALE), 0],
  ])('set: %s', async (_, given, old, operations) => {
    expect(await hashAfter(given, old)).toEqual({ hash: CONTENT, told: 'set', reads: 1, operations });
  });

  test('what is born has no past, whatever the request says', async () => {
    const request = writeOf(listed(STALE), listed(STALE), { operation: 'CREATE' });
    expect(hashOf((await admitted(request)).object)).toBe(CONTENT);
  });

  const spaced = { [SAP_LISTS.ConfigMap]: ' app-config,', [SAP_LISTS.Secret]: 'db, tls' };
  const mark = { name: 'STAKATER_A_CONFIGMAP', value: HASH_A };
  test.each<[string, Given, Given, { reads: number; operations: number }]>([
    ['nothing is to be done', listed(STALE), listed(STALE), { reads: 0, operations: 0 }],
    ['metadata', listed(STALE, { spec: { replicas: 3 } }), listed(STALE), { reads: 0, operations: 0 }],
    ['left out', listed(), listed(STALE), { reads: 0, operations: 1 }],
    ['an old one', listed(VERSIONS), listed(STALE), { reads: 1, operations: 1 }],
    ['lists that mean the same', listed(STALE, { metadata: spaced }), listed(STALE), { reads: 0, operations: 0 }],
    [
      'a mark',
      listed(STALE, { pod: { containers: [{ name: 'app', env: [mark] }] } }),
      listed(STALE),
      { reads: 0, operations: 0 },
    ],
    [
      'a nudge',
      listed(STALE, { template: { [CONFIG_HASH]: STALE, [NUDGE]: '1' } }),
      listed(STALE),
      { reads: 0, operations: 0 },
    ],
  ])('kept: %s', async (_, given, old, cost) => {
    expect(await hashAfter(given, old)).toEqual({ hash: STALE, told: 'kept', ...cost });
  });

  test('that there is none is kept too', async () => {
    expect(await hashAfter(listed(), listed())).toMatchObject({ hash: undefined, told: 'kept', operations: 0 });
    const { object } = await admitted(writeOf(listed(STALE), listed()));
    // With the hash its map goes: one that is empty could make another template of it.
    expect(objectAt(object, ['spec', 'template', 'metadata'])).toEqual({});
  });

  test('what cannot be read keeps the stored one, or none', async () => {
    const fails = () => hashReader({ error: 'no answer' });
    expect(await hashAfter(listed(), undefined, {}, fails())).toMatchObject({ hash: undefined, told: 'kept' });
    expect(await hashAfter(listed(CONTENT), undefined, {}, fails())).toMatchObject({ hash: undefined, told: 'kept' });
    expect(await hashAfter(listed(CONTENT, image), listed(STALE), {}, fails())).toMatchObject({ hash: STALE });
  });

  test.each(['ignored', 'disabled'])('label %s: nothing is set, kept or denied', async (word) => {
    const labels = (value: string) => ({ labels: { [`pod-reloader.cs.sap.com/${word}`]: value } });
    const request = writeOf(token('deadbeef', STALE), listed(CONTENT));
    const withLabel = (value: string) => ({
      ...request,
      object: { ...request.object, metadata: { ...objectAt(request.object, ['metadata']), ...labels(value) } },
    });
    expect((await admitted(withLabel('true'))).answer).toMatchObject({ operations: [], hash: 'none' });
    expect(await admit(withLabel('false'), rulesOf(), hashReader())).toEqual(MISMATCH);
    // Without the label the lists count from now on.
    const back = { ...writeOf(listed(STALE)), operation: 'UPDATE', oldObject: withLabel('true').object };
    expect(hashOf((await admitted(back)).object)).toBe(CONTENT);
  });

  test("without lists it is the writer's, and so is a token", async () => {
    const gone = { metadata: { [CONFIG_HASH]: 'deadbeef' } };
    expect(await hashAfter(gone, listed(STALE))).toEqual({ hash: undefined, told: 'none', reads: 0, operations: 0 });
  });

  test('a Rollout without a template of its own has no place for it', async () => {
    const request = writeOf({ kind: 'Rollout', metadata: LISTS });
    const object = { ...request.object, spec: { workloadRef: { kind: 'Deployment', name: 'web' } } };
    expect((await admitted({ ...request, object })).answer).toMatchObject({ operations: [], hash: 'none' });
  });
});

describe('T7: a token', () => {
  test('that another program left there refuses no later write, and goes with it', async () => {
    const { object, answer } = await admitted(writeOf(token('deadbeef', STALE), token('deadbeef', STALE)));
    expect([tokenOf(object), hashOf(object), answer.hash]).toEqual([undefined, STALE, 'kept']);
    const request = writeOf(token('deadbeef', STALE), token('deadbeef', STALE));
    expect(await admit(request, rulesOf(SAP), hashReader())).toEqual(MISMATCH);
  });

  test.each([{}, SAP])('(i) that is wrong, or empty, denies: %j', async (rules) => {
    for (const wrong of ['deadbeef', '']) {
      expect(await admit(writeOf(token(wrong), listed()), rulesOf(rules), hashReader())).toEqual(MISMATCH);
      expect(await admit(writeOf(token(wrong)), rulesOf(rules), hashReader())).toEqual(MISMATCH);
    }
    const odd = { ...objectOf(listed()), metadata: { annotations: { ...LISTS, [CONFIG_HASH]: null } } };
    expect(await admit({ ...writeOf(listed()), object: odd }, rulesOf(rules), hashReader())).toEqual(MISMATCH);
  });

  test.each<[string, object, string, string]>([
    ["SAP's, as SAP", SAP, VERSIONS, VERSIONS],
    ["SAP's", {}, VERSIONS, CONTENT],
    ['ours', {}, CONTENT, CONTENT],
  ])('(ii) that is right is removed, and the hash is set: %s', async (_, rules, value, hash) => {
    const { object, answer } = await admitted(writeOf(token(value, STALE), listed(STALE)), rules);
    expect([tokenOf(object), hashOf(object), answer.hash]).toEqual([undefined, hash, 'set']);
    const again = { ...writeOf({}, listed(STALE)), object };
    expect((await admitted(again, rules)).answer).toMatchObject({ operations: [], hash: 'set' });
  });

  test('ours means nothing to SAP', async () => {
    expect(await admit(writeOf(token(CONTENT)), rulesOf(SAP), hashReader())).toEqual(MISMATCH);
  });

  test.each([
    ["SAP's that is still right", VERSIONS],
    ["SAP's of another time, an earlier version's or another key's", FOREIGN],
  ])('rolls nothing for a hash that cannot be compared: %s', async (_, stored) => {
    for (const value of [VERSIONS, CONTENT]) {
      const { object, answer } = await admitted(writeOf(token(value, stored), listed(stored)));
      expect([tokenOf(object), hashOf(object), answer.hash]).toEqual([undefined, stored, 'kept']);
    }
    // With the pods that are replaced anyway comes the present one.
    const { object } = await admitted(writeOf({ ...token(VERSIONS, stored), ...image }, listed(stored)));
    expect(hashOf(object)).toBe(CONTENT);
    // SAP's program sets it always.
    const asSap = await admitted(writeOf(token(VERSIONS, FOREIGN), listed(FOREIGN)), SAP);
    expect(hashOf(asSap.object)).toBe(VERSIONS);
  });

  test('sets it where there was none', async () => {
    const { object } = await admitted(writeOf(token(VERSIONS), listed()));
    expect(hashOf(object)).toBe(CONTENT);
  });

  test.each([{}, SAP])('denies with the error where it cannot be checked: %j', async (rules) => {
    const answer = await admit(writeOf(token(CONTENT), listed()), rulesOf(rules), hashReader({ error: 'no answer' }));
    expect(answer).toEqual({ allowed: false, code: 400, message: 'no answer' });
  });
});

test('the operations are these and no others', async () => {
  const path = '/spec/template/metadata/annotations/pod-reloader.cs.sap.com~1config-hash';
  const annotated = { template: { other: 'x', [CONFIG_HASH]: STALE } };
  expect((await admitted(writeOf({ ...token(CONTENT), ...annotated }, listed(STALE)))).answer.operations).toEqual([
    { op: 'remove', path: '/metadata/annotations/pod-reloader.cs.sap.com~1config-hash' },
    { op: 'add', path, value: CONTENT },
  ]);
  expect((await admitted(writeOf(listed()))).answer.operations).toEqual([
    { op: 'add', path: '/spec/template/metadata', value: { annotations: { [CONFIG_HASH]: CONTENT } } },
  ]);
  const bare = { ...objectOf(listed()), spec: { template: { metadata: { labels: {} }, spec: {} } } };
  expect((await admitted({ ...writeOf(listed()), object: bare })).answer.operations).toEqual([
    { op: 'add', path: '/spec/template/metadata/annotations', value: { [CONFIG_HASH]: CONTENT } },
  ]);
});
