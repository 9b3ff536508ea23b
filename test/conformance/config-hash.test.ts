import { describe, expect, test } from 'vitest';
import { SAP_LISTS } from '../../src/api/annotations.ts';
import { configHashText, listedRefs, listedSources } from '../../src/domain/config-hash/config-hash.ts';
import { sha256Hex } from '../../src/runtime/digest.ts';
import { digestOf, SHOP, VECTORS } from './config-hash-vectors.ts';

const EMPTY = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

describe('the config hash of SAP pod-reloader, by uid and resource version', () => {
  test('V0: nothing is hashed', () => {
    expect(sha256Hex(configHashText({ ConfigMap: [], Secret: [] }, 'shop', () => 'x'))).toBe(EMPTY);
    expect(listedSources({}, true)).toBeUndefined();
    expect(listedSources({ [SAP_LISTS.ConfigMap]: '', [SAP_LISTS.Secret]: '' }, true)).toBeUndefined();
  });

  test.each(VECTORS)('$id', ({ digest, ...given }) => expect(digestOf(given, true)).toBe(digest));
});

test('by default names are trimmed, and neither empty nor twice', () => {
  const digest = digestOf({ configmaps: 'app-config', secrets: 'db,tls', state: SHOP }, false);
  const odd = { configmaps: ' app-config ,, app-config', secrets: 'db, tls,', state: SHOP };
  expect(digestOf(odd, false)).toBe(digest);
  expect(digestOf(odd, true)).not.toBe(digest);
  expect(listedSources({ [SAP_LISTS.ConfigMap]: ' , ' }, false)).toBeUndefined();
});

test('every listed source is looked up once', () => {
  expect(listedRefs({ ConfigMap: ['a', 'a'], Secret: ['a'] }, 'shop')).toEqual([
    { kind: 'ConfigMap', namespace: 'shop', name: 'a' },
    { kind: 'Secret', namespace: 'shop', name: 'a' },
  ]);
});
