import { expect, test } from 'vitest';
import type { Exchange } from '../../../test/support/scripted-api.ts';
import { startClient } from '../../../test/support/scripted-client.ts';
import type { Piece } from '../../api/piece.ts';
import type { KubeError } from '../../kube/kube-error.ts';
import { withKey } from '../../model/ledger/ledger-key.ts';
import { ownKey } from './own-key.ts';

interface KeySecret {
  readonly metadata: { readonly name: string; readonly resourceVersion?: string; readonly labels?: object };
  readonly data?: Readonly<Record<string, string>>;
}

const PIN: readonly Piece[] = [{ part: 'secret', key: 'pin', value: 'MTIzNA==' }];
const DB = { kind: 'Secret', namespace: 'shop', name: 'db' } as const;
const NEVER = new AbortController().signal;
const base64 = (bytes: string | Uint8Array): string => Buffer.from(bytes).toString('base64');
const bytesOf = (text: string | undefined): Buffer => Buffer.from(text ?? '', 'base64');
const secretWith = (data?: KeySecret['data']): KeySecret => ({
  metadata: { name: 'attune-ledger-key', resourceVersion: '7', labels: { kept: 'yes' } },
  ...(data && { data }),
});

/** A server with one Secret; `refuse` answers a write instead of it. */
async function server(first: KeySecret | undefined, refuse?: (exchange: Exchange) => boolean) {
  let stored = first;
  const { client, api } = await startClient((exchange) => {
    if (exchange.verb === 'get') {
      if (stored) exchange.json(200, stored);
      else exchange.status(404, 'NotFound');
      return;
    }
    if (refuse?.(exchange)) return;
    const body = JSON.parse(exchange.body) as KeySecret;
    if (body.metadata.resourceVersion !== stored?.metadata.resourceVersion) exchange.status(409, 'Conflict');
    else {
      stored = { ...body, metadata: { ...body.metadata, resourceVersion: '8' } };
      exchange.json(200, stored);
    }
  });
  const told: string[] = [];
  const tell = {
    keyless: (error: KubeError | undefined) => void told.push(`keyless: ${error?.reason}`),
    weakKey: (bytes: number, error?: KubeError) => void told.push(`${bytes}: ${error?.reason ?? 'replaced'}`),
  };
  return {
    told,
    api,
    stored: () => stored,
    put: (secret: KeySecret) => {
      stored = secret;
    },
    start: (compat = false) => ownKey(client, { ownNamespace: 'attune', compat }, tell, NEVER),
  };
}

test('a key of 32 bytes is taken as it is', async () => {
  const key = Buffer.alloc(32, 7);
  const { start, told, api } = await server(secretWith({ key: base64(key) }));
  const { keyId, digest } = await start();
  expect(keyId).toBe(withKey(key, false).keyId);
  expect(digest.fingerprint(DB, PIN)).toEqual(withKey(key, false).digest.fingerprint(DB, PIN));
  expect(told).toEqual([]);
  expect(api.requests).toHaveLength(1);
});

test.each([
  ['no data', undefined, ''],
  ['no key in it', { other: 'eA==' }, ''],
  ['an empty key', { key: '' }, ''],
  ['one byte', { key: base64('x') }, 'x'],
  ['31 bytes', { key: base64('x'.repeat(31)) }, 'x'.repeat(31)],
])('a Secret with %s: told, replaced, and what was stored with it is still understood', async (_what, data, weak) => {
  const { start, told, stored } = await server(secretWith(data));
  const before = withKey(Buffer.from(weak), false);
  const now = await start();
  expect(told).toEqual([`${weak.length}: replaced`]);
  expect(bytesOf(stored()?.data?.['key'])).toHaveLength(32);
  expect(stored()?.metadata).toMatchObject({ labels: { kept: 'yes' } });
  expect(stored()?.data?.['other']).toBe(data && 'other' in data ? data.other : undefined);
  // Nothing that is stored from now on can be made with the key that anybody could guess.
  expect(now.keyId).not.toBe(before.keyId);
  expect(now.digest.fingerprint(DB, PIN).exact).not.toBe(before.digest.fingerprint(DB, PIN).exact);
  expect(now.digest.text('t')).not.toBe(before.digest.text('t'));
  expect(now.digest.text('t')).toMatch(/^[0-9a-f]{20}$/);
  expect(now.digest.fingerprint(DB, PIN).mark).toBe(before.digest.fingerprint(DB, PIN).mark);
  expect(now.mayStore('Secret/pin')).toBe(true);
  // What was stored before tells the same as before.
  expect(now.former?.options.keyId).toBe(before.keyId);
  expect(now.former?.applied(before.digest.fingerprint(DB, PIN).exact)).toBe(now.digest.fingerprint(DB, PIN).exact);
  expect(now.former?.options.text(before.digest.text('t'))).toBe(now.digest.text('t'));
});

test('the next start digests as this one, and still understands the key before', async () => {
  const { start, told } = await server(secretWith({ key: base64('x') }));
  const first = await start();
  const second = await start();
  expect(told).toHaveLength(1);
  expect(second.keyId).toBe(first.keyId);
  expect(second.digest.fingerprint(DB, PIN)).toEqual(first.digest.fingerprint(DB, PIN));
  expect(second.former?.options.keyId).toBe(first.former?.options.keyId);
});

test('what a version without the former key would write is not taken for ours', async () => {
  const { start, stored } = await server(secretWith());
  const { keyId } = await start();
  expect(withKey(bytesOf(stored()?.data?.['key']), false).keyId).not.toBe(keyId);
});

test('where upstream’s hash is compared, what was stored is understood as well', async () => {
  const { start } = await server(secretWith({ key: base64('x') }));
  const before = withKey(Buffer.from('x'), true);
  const now = await start(true);
  expect(now.former?.options.keyId).toBe(before.keyId);
  const exact = before.digest.fingerprint(DB, PIN).exact;
  expect(now.former?.applied(exact)).toBe(now.digest.fingerprint(DB, PIN).exact);
});

test('absent and unknown mean the same with every key', async () => {
  const { former } = await (await server(secretWith())).start();
  expect(former?.applied('-')).toBe('-');
  expect(former?.applied('?')).toBe('?');
});

test('of two replicas one replaces it, and the other takes that one’s', async () => {
  const winner = { key: base64(Buffer.alloc(32, 1)), former: base64('x') };
  const { start, told, put, stored } = await server(secretWith({ key: base64('x') }), (exchange) => {
    if (stored()?.metadata.resourceVersion !== '7') return false;
    put({ metadata: { name: 'attune-ledger-key', resourceVersion: '9' }, data: winner });
    exchange.status(409, 'Conflict');
    return true;
  });
  const { keyId } = await start();
  expect(keyId).toBe(withKey(bytesOf(winner.key), false, Buffer.from('x')).keyId);
  expect(told).toEqual([]);
});

test('where it may not be replaced nothing new is stored about Secrets, and the past is still compared', async () => {
  const { start, told } = await server(secretWith({ key: base64('x') }), (exchange) => {
    exchange.status(403, 'Forbidden');
    return true;
  });
  const { keyId, mayStore, former, contentHash } = await start();
  expect(told).toEqual(['1: Forbidden']);
  expect(contentHash).toBeUndefined();
  expect(keyId).toBe(withKey(Buffer.from('x'), false).keyId);
  expect(former).toBeUndefined();
  expect(mayStore('Secret/pin')).toBe(false);
  expect(mayStore('ConfigMap/app')).toBe(true);
});

test('where no key can be kept, what is stored tells nothing of Secrets and no config hash tells content', async () => {
  const { start, told } = await server(undefined, (exchange) => {
    exchange.status(403, 'Forbidden');
    return true;
  });
  const { keyId, mayStore, contentHash } = await start();
  expect(told).toEqual(['keyless: Forbidden']);
  expect(keyId).toMatch(/^open-/);
  expect([mayStore('Secret/pin'), mayStore('ConfigMap/app'), contentHash]).toEqual([false, true, undefined]);
});

test('a Secret that is not there is made', async () => {
  const { start, told, stored } = await server(undefined);
  expect((await start()).former).toBeUndefined();
  expect(bytesOf(stored()?.data?.['key'])).toHaveLength(32);
  expect(told).toEqual([]);
});
