import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { SourceKind } from '../../src/api/sources.ts';
import { DELETE_MARK, piecesOf } from '../../src/domain/source/fingerprint.ts';
import { digest } from './given.ts';

const base64 = (bytes: string | readonly number[]): string => Buffer.from(bytes as string).toString('base64');
const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex');
const fingerprint = (kind: SourceKind, object: unknown) =>
  digest.fingerprint({ kind, namespace: 'shop', name: 'app' }, piecesOf(kind, object));

const status = (objects: readonly (readonly [string, string])[] | undefined) => ({
  status: {
    secretProviderClassName: 'vault-db',
    podName: 'web-1',
    mounted: true,
    ...(objects === undefined ? {} : { objects: objects.map(([id, version]) => ({ id, version })) }),
  },
});

interface Vector {
  readonly id: string;
  readonly kind: SourceKind;
  readonly object: unknown;
  readonly mark: string;
}

const VECTORS: readonly Vector[] = [
  {
    id: 'V1',
    kind: 'ConfigMap',
    object: { data: { a: '1', b: '2' } },
    mark: 'f83e99e324ba68ccc373a58ef1eb42f8ab88646a',
  },
  {
    id: 'V1 in another order',
    kind: 'ConfigMap',
    object: { data: { b: '2', a: '1' } },
    mark: 'f83e99e324ba68ccc373a58ef1eb42f8ab88646a',
  },
  { id: 'V2', kind: 'ConfigMap', object: {}, mark: 'da39a3ee5e6b4b0d3255bfef95601890afd80709' },
  { id: 'V2 with null', kind: 'ConfigMap', object: { data: null }, mark: 'da39a3ee5e6b4b0d3255bfef95601890afd80709' },
  { id: 'V3', kind: 'ConfigMap', object: { data: { test: 'test' } }, mark: 'b3cefbcce711f8574b0e66c41fc1dcf06eb5b6db' },
  {
    id: 'V4',
    kind: 'ConfigMap',
    object: { binaryData: { bintest: base64('test') } },
    mark: 'f327fede9d5cda17ab984fabce9eddeee1611a84',
  },
  {
    id: 'V5',
    kind: 'ConfigMap',
    object: { data: { test: 'test' }, binaryData: { bintest: base64('test') } },
    mark: '0d58150de76a895b24f4ca213f590766160c4349',
  },
  {
    id: 'V6',
    kind: 'ConfigMap',
    object: { binaryData: { blob: base64([0, 0xff, 0xfe, 1]) } },
    mark: 'b1f764424044474289573d0f75ef15f9d3dc8314',
  },
  {
    id: 'V6 spelled without padding',
    kind: 'ConfigMap',
    object: { binaryData: { blob: 'AP/+AQ' } },
    mark: 'b1f764424044474289573d0f75ef15f9d3dc8314',
  },
  {
    id: 'V7',
    kind: 'ConfigMap',
    object: { data: { a: 'x', a1: 'y', 'a-b': 'z', a_b: 'w', aB: 'v' } },
    mark: '674cc3dc8fb0f00b963a1b4d5afb71d889be748d',
  },
  {
    id: 'V8',
    kind: 'ConfigMap',
    object: { data: { 'config.yaml': 'key: value\n' } },
    mark: 'f8fff97e373af4e58e4d9fddaef0346e05a0b5af',
  },
  {
    id: 'V9',
    kind: 'ConfigMap',
    object: { data: { greeting: 'h\u00e9llo \u4e16\u754c \u{1f389}' } },
    mark: '30b4ac311c2f4b25deed44946ffc8be2d1651fb0',
  },
  { id: 'V10', kind: 'ConfigMap', object: { data: { k: '' } }, mark: 'a2a640403bda81368faf0dd24c36f66cb0206460' },
  { id: 'V11', kind: 'ConfigMap', object: { data: { a: '1;b=2' } }, mark: 'f83e99e324ba68ccc373a58ef1eb42f8ab88646a' },
  {
    id: 'V12 text',
    kind: 'ConfigMap',
    object: { data: { x: 'dGVzdA==' } },
    mark: '93958f5da68006bfe9567dbd6dce5dd0c4e39a07',
  },
  {
    id: 'V12 binary',
    kind: 'ConfigMap',
    object: { binaryData: { x: base64('test') } },
    mark: '93958f5da68006bfe9567dbd6dce5dd0c4e39a07',
  },
  {
    id: 'V13',
    kind: 'Secret',
    object: { data: { username: base64('admin'), password: base64('s3cr3t') }, type: 'Opaque', immutable: true },
    mark: 'c6cceb2f1c84498af4f4cda76071f8bc2afd425b',
  },
  {
    id: 'V14',
    kind: 'Secret',
    object: { data: { blob: base64([0xff, 0xfe, 0, 1]) } },
    mark: 'fc302551bf07e498ac1cc51a34adb2d7c2974724',
  },
  { id: 'V15', kind: 'Secret', object: {}, mark: 'da39a3ee5e6b4b0d3255bfef95601890afd80709' },
  {
    id: 'V16',
    kind: 'Secret',
    object: { data: { 'tls.key': base64('KEY'), 'tls.crt': base64('CERT') } },
    mark: 'e597d19f54e4adaef5d2e0520283a7399a1488be',
  },
  {
    id: 'V17',
    kind: 'SecretProviderClass',
    object: status([
      ['secret/username', '2'],
      ['secret/password', 'v1'],
    ]),
    mark: 'af79c5b7ac61a7399b29c0c1b5e4a00f931d2c9d',
  },
  {
    id: 'V18',
    kind: 'SecretProviderClass',
    object: status(undefined),
    mark: '1614effc0230aca4ac64801f4d1ec246d8b42938',
  },
  {
    id: 'V19',
    kind: 'SecretProviderClass',
    object: status([['A', '1']]),
    mark: '338d3310cfc3848bc7ac152814dd7e343bc57d2e',
  },
];

test.each(VECTORS)('$id', ({ kind, object, mark }) => {
  expect(fingerprint(kind, object).mark).toBe(mark);
});

test('V0: the anchor is plain SHA-1', () => {
  expect(sha1('www.stakater.com')).toBe('abd4ed82fb04548388a6cf3c339fd9dc84d275df');
});

test('V20: the delete marker', () => {
  expect(DELETE_MARK).toBe('aae45badef99284e4dae01d6046154ea9d99532f');
  expect(DELETE_MARK).toBe(sha1('__RELOADER_EMPTY_DELETE_MARKER__'));
});

test('what the mark confuses, the exact digest keeps apart', () => {
  const groups: readonly (readonly [SourceKind, readonly unknown[]])[] = [
    ['ConfigMap', [{ data: { a: '1', b: '2' } }, { data: { a: '1;b=2' } }]],
    ['ConfigMap', [{ data: { x: 'dGVzdA==' } }, { binaryData: { x: 'dGVzdA==' } }]],
    ['SecretProviderClass', [status([['a', 'b=c']]), status([['a=b', 'c']])]],
    [
      'SecretProviderClass',
      [
        { status: { secretProviderClassName: 'x', objects: [{ id: 'SecretProviderClassName', version: 'y' }] } },
        { status: { secretProviderClassName: 'y', objects: [{ id: 'SecretProviderClassName', version: 'x' }] } },
      ],
    ],
  ];
  for (const [kind, objects] of groups) {
    const prints = objects.map((object) => fingerprint(kind, object));
    expect(new Set(prints.map(({ mark }) => mark)).size).toBe(1);
    expect(new Set(prints.map(({ exact }) => exact)).size).toBe(objects.length);
  }
});

test('the statuses of a class are sorted by UTF-8 bytes, which is not the order of UTF-16', () => {
  const objects = [
    ['\u{1f389}', '1'],
    ['\uffee', '1'],
  ] as const;
  const mark = sha1('SecretProviderClassName=vault-db;\uffee=1;\u{1f389}=1');
  expect(fingerprint('SecretProviderClass', status(objects)).mark).toBe(mark);
});
