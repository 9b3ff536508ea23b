import { expect, test } from 'vitest';
import { KubeError, refusal, retryWait } from './kube-error.ts';

const status = (reason: string, message: string, details?: object) => ({ kind: 'Status', reason, message, details });

test('the message says what was asked, on what, and what the server said', () => {
  const error = refusal(
    { verb: 'patch', path: '/apis/apps/v1/namespaces/shop/deployments/web' },
    409,
    status('Conflict', 'the object has been modified'),
  );
  expect(error.message).toBe(
    'patch /apis/apps/v1/namespaces/shop/deployments/web: 409 Conflict: the object has been modified',
  );
  expect(error).toMatchObject({ verb: 'patch', status: 409, reason: 'Conflict' });
});

test.each([
  [404, 'NotFound'],
  [410, 'Gone'],
  [429, 'TooManyRequests'],
  [502, 'Http502'],
])('without a Status the reason comes from the code: %i %s', (code, reason) => {
  expect(refusal({ verb: 'get', path: '/x' }, code, undefined).reason).toBe(reason);
  expect(refusal({ verb: 'get', path: '/x' }, code, { kind: 'Html' }).reason).toBe(reason);
});

test.each([
  ['header', '3', undefined, 3000],
  ['Status', undefined, { retryAfterSeconds: 5 }, 5000],
  ['neither', undefined, undefined, undefined],
  ['header and Status', '3', { retryAfterSeconds: 5 }, 3000],
  ['a date', 'Wed, 21 Oct 2015 07:28:00 GMT', undefined, 20_000],
  ['a date that is over', 'Wed, 21 Oct 2015 07:27:00 GMT', undefined, 0],
  ['a date of a wrong clock', 'Fri, 31 Dec 2038 23:59:59 GMT', undefined, 300_000],
  ['a very large number', '9'.repeat(400), undefined, 300_000],
  ['an unusable header', 'soon', { retryAfterSeconds: 5 }, 5000],
  ['an empty header', '', { retryAfterSeconds: 5 }, 5000],
  ['a negative number', '-5', { retryAfterSeconds: 5 }, 5000],
  ['a date that is none', 'Wed, 99 Foo GMT', undefined, undefined],
  ['an unusable Status', undefined, { retryAfterSeconds: -1 }, undefined],
  ['text in the Status', undefined, { retryAfterSeconds: 'soon' }, undefined],
])('Retry-After by %s', (_, header, details, expected) => {
  const waitMs = retryWait(header, Date.parse('2015-10-21T07:27:40Z'));
  const error = refusal({ verb: 'get', path: '/x' }, 429, status('TooManyRequests', '', details), waitMs);
  expect(error.retryAfterMs).toBe(expected);
});

test('what a server says about a Secret that was sent to it is dropped: it may quote the Secret', () => {
  const body = status('Invalid', 'data[password]: Invalid value: "hunter2"');
  for (const verb of ['create', 'update', 'patch'] as const) {
    expect(refusal({ verb, path: '/api/v1/namespaces/shop/secrets/db' }, 422, body).message).not.toContain('hunter2');
  }
  expect(refusal({ verb: 'create', path: '/api/v1/namespaces/shop/secrets' }, 422, body).message).not.toContain(
    'hunter2',
  );
});

test('what it says about reading one is kept: it names the right that is missing', () => {
  const body = status('Forbidden', 'secrets is forbidden: User "x" cannot list resource "secrets"');
  expect(refusal({ verb: 'list', path: '/api/v1/secrets' }, 403, body).message).toContain('cannot list');
});

test('the message is one line that steers no terminal, whatever the server says', () => {
  const body = { kind: 'Status', reason: 'Invalid', message: 'no\x1b[2J\nerror: none\u202e' };
  const error = refusal({ verb: 'get', path: '/x' }, 422, body);
  expect(error.message).toBe('get /x: 422 Invalid: no\\u001b[2J\\nerror: none\\u202e');
  expect(error.detail).toBe('no\\u001b[2J\\nerror: none\\u202e');
});

test('is: any KubeError, or one with a given reason', () => {
  const error = new KubeError({ verb: 'get', path: '/x', status: 0, reason: 'Unreachable' });
  expect(KubeError.is(error)).toBe(true);
  expect(KubeError.is(error, 'Conflict', 'Unreachable')).toBe(true);
  expect(KubeError.is(error, 'Conflict')).toBe(false);
  expect(KubeError.is(new Error('Unreachable'))).toBe(false);
});

test('a server that quotes a megabyte, or has a reason of that length, is quoted in part', () => {
  const megabyte = 'x'.repeat(1e6);
  const error = refusal({ verb: 'patch', path: '/x' }, 422, status(megabyte, `Invalid value: ${megabyte}`));
  expect(error.message).toMatch(/^patch \/x: 422 Invalid: Invalid value: x+…$/);
  expect(error.message.length).toBeLessThan(2200);
});
