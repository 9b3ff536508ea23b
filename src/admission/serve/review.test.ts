import { describe, expect, test } from 'vitest';
import { collectGarbage } from '../../../test/support/collect-garbage.ts';
import type { Answer } from '../../domain/admission/request.ts';
import { parsedBytes, readReview, writeReview } from './review.ts';

const read = (value: unknown) => readReview(Buffer.from(JSON.stringify(value)));
const review = (request: unknown, more: object = {}) =>
  read({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request, ...more });

const NONE = { kind: { group: '', version: '', kind: '' }, operation: '', namespace: '', subResource: '' };
const EMPTY = { ...NONE, object: undefined, oldObject: undefined, username: '', fieldManager: '', dryRun: false };

describe('a request', () => {
  test('as the API server sends it', () => {
    const object = { metadata: { name: 'web', namespace: 'other' }, spec: {} };
    const oldObject = { metadata: { name: 'web' } };
    const request = {
      uid: 'u-1',
      kind: { group: 'apps', version: 'v1', kind: 'Deployment' },
      resource: { group: 'apps', version: 'v1', resource: 'deployments' },
      operation: 'UPDATE',
      namespace: 'shop',
      subResource: 'scale',
      object,
      oldObject,
      userInfo: { username: 'jane', groups: ['dev'] },
      options: { kind: 'UpdateOptions', fieldManager: 'kubectl' },
      dryRun: true,
    };
    expect(review(request)).toEqual({
      request: {
        uid: 'u-1',
        kind: { group: 'apps', version: 'v1', kind: 'Deployment' },
        operation: 'UPDATE',
        namespace: 'shop',
        subResource: 'scale',
        object,
        oldObject,
        username: 'jane',
        fieldManager: 'kubectl',
        dryRun: true,
      },
    });
  });

  test('without anything but a uid', () => {
    expect(review({ uid: 'u' })).toEqual({ request: { uid: 'u', ...EMPTY } });
  });

  test.each([[null], [[]], ['text'], [7]])('whose members are %j', (odd) => {
    const members = ['kind', 'operation', 'namespace', 'subResource', 'object', 'oldObject', 'userInfo', 'options'];
    const request = { ...Object.fromEntries(members.map((member) => [member, odd])), dryRun: odd, uid: 'u' };
    const texts = typeof odd === 'string' ? { operation: odd, namespace: odd, subResource: odd } : {};
    expect(review(request)).toEqual({ request: { uid: 'u', ...EMPTY, ...texts } });
  });

  test('takes the namespace of the object where it has none itself', () => {
    expect(review({ uid: 'u', object: { metadata: { namespace: 'shop' } } })).toMatchObject({
      request: { namespace: 'shop' },
    });
    expect(review({ uid: 'u', object: { metadata: null } })).toMatchObject({ request: { namespace: '' } });
  });
});

describe('no request', () => {
  const refused = (message: string, status = 400) => ({ status, message });
  const notJson = refused('the body is not a JSON object');

  test.each([
    [''],
    ['{'],
    ['nonsense'],
    ['null'],
    ['[]'],
    ['7'],
    ['"text"'],
    ['{"kind":"AdmissionReview",}'],
    ['\0\xff'],
    ['['.repeat(200_000)],
    [`${'['.repeat(200_000)}${']'.repeat(200_000)}`],
  ])('%.20j', (text) => {
    expect(readReview(Buffer.from(text, 'latin1'))).toEqual(notJson);
  });

  test('of another version or kind', () => {
    const expected = 'expected an AdmissionReview of admission.k8s.io/v1';
    expect(review({ uid: 'u' }, { apiVersion: 'admission.k8s.io/v1beta1' })).toEqual(
      refused(`${expected}: the registration has to ask for v1, not v1beta1`),
    );
    expect(review({ uid: 'u' }, { apiVersion: 'v1' })).toEqual(refused(expected));
    expect(review({ uid: 'u' }, { kind: 'Review' })).toEqual(refused(expected));
    expect(read({ request: { uid: 'u' } })).toEqual(refused(expected));
  });

  test('in the review, or none with a uid', () => {
    for (const odd of [undefined, null, [], 'text'])
      expect(review(odd)).toEqual(refused('the AdmissionReview has no request'));
    for (const uid of [undefined, null, '', 7, {}])
      expect(review({ uid })).toEqual(refused('the request of the AdmissionReview has no uid'));
  });

  test.each([
    ['lists in lists', '['.repeat(2_000_000) + ']'.repeat(2_000_000)],
    ['lists that never end', '['.repeat(7_000_000)],
    ['objects', `[${'{},'.repeat(2_000_000)}{}]`],
    ['members', `{${'"a":0,'.repeat(1_000_000)}"a":0}`],
  ])('but more %s than the memory could bear', (_, text) => {
    expect(readReview(Buffer.from(text))).toEqual(
      refused('the body would take more than 67108864 bytes of memory', 413),
    );
  });

  test.each([
    ['lists', '[],'],
    ['objects', '{},'],
    ['objects with a member', '{"9":1},'],
    ['objects with a member each of its own', '{"#":1},'],
    ['texts', '"#",'],
    ['numbers', '1.5,'],
    ['variables', '{"name":"V#","value":"#"},'],
  ])('takes no more memory than was counted: %s', (_, element) => {
    const count = 200_000;
    const body = Buffer.from(
      `[${Array.from({ length: count }, (_each, index) => element.replaceAll('#', index.toString(36))).join('')}0]`,
    );
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    const parsed: unknown = JSON.parse(body.toString());
    collectGarbage();
    const taken = process.memoryUsage().heapUsed - before;
    expect(parsed).toHaveLength(count + 1);
    expect(taken).toBeLessThan(parsedBytes(body));
  });

  test('of a large object is one all the same', () => {
    const env = Array.from({ length: 30_000 }, (_, index) => ({ name: `VARIABLE_${index}`, value: 'x'.repeat(150) }));
    expect(review({ uid: 'u', object: { spec: env } })).toMatchObject({ request: { uid: 'u' } });
  });
});

describe('an answer', () => {
  const allowed: Answer = {
    allowed: true,
    operations: [],
    warnings: [],
    restored: { variables: 0, annotations: 0, record: 0 },
    hash: 'none',
  };
  const written = (answer: Answer) => JSON.parse(writeReview('u-1', answer)) as Record<string, unknown>;
  const head = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' };

  test('that changes nothing has no patch and no warnings', () => {
    expect(written(allowed)).toEqual({ ...head, response: { uid: 'u-1', allowed: true } });
  });

  test('with operations and warnings', () => {
    const operations = [{ op: 'add', path: '/metadata/annotations/a~1b', value: 'ü' }] as const;
    const { response } = written({ ...allowed, operations, warnings: ['an older mark was sent'] }) as {
      response: { patch: string };
    };
    expect(JSON.parse(Buffer.from(response.patch, 'base64').toString())).toEqual(operations);
    expect(response).toEqual({
      uid: 'u-1',
      allowed: true,
      patchType: 'JSONPatch',
      patch: response.patch,
      warnings: ['an older mark was sent'],
    });
  });

  test('that denies has a status without a reason', () => {
    const message = 'injected hash does not match calculated hash';
    expect(written({ allowed: false, code: 400, message })).toEqual({
      ...head,
      response: { uid: 'u-1', allowed: false, status: { code: 400, message } },
    });
  });
});
