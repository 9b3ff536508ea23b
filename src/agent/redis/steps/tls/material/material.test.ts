import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  makeRedisAuthority,
  makeRedisIntermediate,
  makeRedisLeaf,
  type TestAuthority,
  type TestPair,
  type TlsFiles,
  tlsFiles,
} from '../../../../../../test/support/redis-certificates.ts';
import type { FileContent, Snapshot } from '../../../../files/snapshot.ts';
import { readMaterial } from './material.ts';

let root: TestAuthority;
let other: TestAuthority;
let leaf: TestPair;
let files: Record<keyof TlsFiles, string>;

beforeAll(async () => {
  root = await makeRedisAuthority({ name: 'root' });
  other = await makeRedisAuthority({ name: 'other' });
  leaf = await makeRedisLeaf(root);
  files = tlsFiles(leaf, root);
});

/** Files of a mount; undefined is missing. */
const mounted = (content: TlsFiles | Readonly<Record<string, FileContent>>): Snapshot => ({
  root: '/tls',
  get(path) {
    const file = (content as Readonly<Record<string, FileContent | string | undefined>>)[path];
    if (typeof file === 'string') return { kind: 'bytes', bytes: Buffer.from(file, 'latin1') };
    return file ?? { kind: 'missing' };
  },
});

const problemsOf = (content: TlsFiles | Readonly<Record<string, FileContent>>): readonly string[] => {
  const read = readMaterial(mounted(content));
  return read.material ? [] : read.problems.map(({ where, what }) => `${where} ${what}`);
};

describe('good files', () => {
  it('a leaf and its root', () => {
    const { material } = readMaterial(mounted(files));
    expect(material).toMatchObject({
      leaf: leaf.fingerprint,
      signedBy: root.fingerprint,
      authorities: [root.fingerprint],
      isForClients: true,
    });
  });

  it('intermediates behind the leaf', async () => {
    const lower = await makeRedisIntermediate(await makeRedisIntermediate(root));
    const deep = await makeRedisLeaf(lower);
    const { material } = readMaterial(mounted(tlsFiles(deep, other, root)));
    expect(material).toMatchObject({ leaf: deep.fingerprint, signedBy: root.fingerprint });
    expect(material?.certificates).toHaveLength(3);
    expect(material?.times).toHaveLength(4);
  });

  it('intermediates in ca.crt, beside the root', async () => {
    const lower = await makeRedisIntermediate(root);
    const deep = await makeRedisLeaf({ ...lower, chain: '' });
    const { material } = readMaterial(mounted(tlsFiles(deep, lower, root)));
    expect(material?.signedBy).toBe(root.fingerprint);
  });

  it('a root that was renewed with the same key: the one that lasts longest', async () => {
    const renewed = await makeRedisAuthority({ name: 'root', untilMs: Date.now() + 1e10, like: root });
    const { material } = readMaterial(mounted(tlsFiles(leaf, root, renewed)));
    expect(material?.signedBy).toBe(renewed.fingerprint);
  });

  it('text around the blocks, Windows line ends, a key in its older form', () => {
    const sec1 = createPrivateKey(leaf.key).export({ type: 'sec1', format: 'pem' }).toString();
    const around = (text: string): string => `subject=x\n${text}\ntrailing`.replaceAll('\n', '\r\n');
    const read = readMaterial(mounted({ 'tls.crt': around(leaf.cert), 'tls.key': sec1, 'ca.crt': around(root.cert) }));
    expect(read.material?.leaf).toBe(leaf.fingerprint);
  });

  it('a certificate that names no usages', async () => {
    const open = await makeRedisLeaf(root, { usages: [] });
    expect(readMaterial(mounted(tlsFiles(open, root))).material?.isForClients).toBe(true);
    const narrow = await makeRedisLeaf(root, { usages: ['server'] });
    expect(readMaterial(mounted(tlsFiles(narrow, root))).material?.isForClients).toBe(false);
  });
});

describe('bad files are named, with the way out', () => {
  it('all that is wrong at once; missing is not empty', () => {
    expect(problemsOf({ 'ca.crt': '' })).toEqual([
      '/tls/tls.crt is missing: the Secret needs the key tls.crt',
      '/tls/ca.crt is empty: put PEM under the key ca.crt of the Secret',
      '/tls/tls.key is missing: the Secret needs the key tls.key',
    ]);
  });

  it('a file that cannot be read', () => {
    const why = 'is 10485760 bytes, at most 2097152';
    const bytes = (text: string): FileContent => ({ kind: 'bytes', bytes: Buffer.from(text) });
    const all = { 'tls.crt': bytes(files['tls.crt']), 'tls.key': bytes(files['tls.key']) };
    expect(problemsOf({ ...all, 'ca.crt': { kind: 'unreadable', why } })).toEqual([
      '/tls/ca.crt cannot be read: it is 10485760 bytes, at most 2097152',
    ]);
  });

  it.each([
    '\0\0\0',
    'hello',
    '-----BEGIN CERTIFICATE-----',
    '-----BEGIN PUBLIC KEY-----\nAA==\n-----END PUBLIC KEY-----',
  ])('no PEM: %j', (text) => {
    expect(problemsOf({ 'tls.crt': text, 'tls.key': text, 'ca.crt': text })).toEqual([
      '/tls/tls.crt holds no certificate: expected PEM (-----BEGIN CERTIFICATE-----)',
      '/tls/ca.crt holds no certificate: expected PEM (-----BEGIN CERTIFICATE-----)',
      '/tls/tls.key holds no private key that can be read: expected PEM (-----BEGIN PRIVATE KEY-----)',
    ]);
  });

  it('a damaged certificate among good ones', () => {
    const damaged = root.cert.replace(/[A-Za-z0-9]{40}/, 'A'.repeat(40));
    expect(problemsOf({ ...files, 'ca.crt': `${root.cert}${damaged}` })).toEqual([
      '/tls/ca.crt certificate 2 of it cannot be read: copy it anew',
    ]);
  });

  it('a key of another certificate, and nothing of the key is told', async () => {
    const stranger = await makeRedisLeaf(root);
    const problems = problemsOf({ ...files, 'tls.key': stranger.key });
    expect(problems).toEqual([
      '/tls/tls.key does not belong to the certificate in tls.crt: put both of one issue into the Secret',
    ]);
  });

  it('the leaf not in the first place', () => {
    expect(problemsOf({ ...files, 'tls.crt': `${root.cert}${leaf.cert}` })).toEqual([
      '/tls/tls.crt has the certificate of tls.key in place 2: it has to be the first',
    ]);
  });

  it('an encrypted key', () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const cipher = { cipher: 'aes-256-cbc', passphrase: 'x' };
    const key = privateKey.export({ type: 'pkcs8', format: 'pem', ...cipher }).toString();
    expect(problemsOf({ ...files, 'tls.key': key })).toEqual([
      '/tls/tls.key is encrypted, and there is no pass phrase for it: store the key unencrypted',
    ]);
  });

  it('another authority', () => {
    expect(problemsOf(tlsFiles(leaf, other))).toEqual([
      '/tls/tls.crt leads to no root in ca.crt; it was signed by CN=root: put the root into ca.crt, and intermediates behind the certificate in tls.crt',
    ]);
  });

  it('an authority of the same name with another key', async () => {
    const twin = await makeRedisAuthority({ name: 'root' });
    expect(problemsOf(tlsFiles(leaf, twin))).toHaveLength(1);
  });

  it('an intermediate is missing, or stands in ca.crt without its root', async () => {
    const lower = await makeRedisIntermediate(root);
    const deep = await makeRedisLeaf(lower);
    const [alone = ''] = deep.cert.split(/(?<=-----END CERTIFICATE-----\n)/);
    expect(problemsOf({ ...tlsFiles(deep, root), 'tls.crt': alone })).toHaveLength(1);
    expect(problemsOf(tlsFiles(deep, lower))).toHaveLength(1);
  });

  it('a leaf among the authorities', () => {
    expect(problemsOf({ ...files, 'ca.crt': `${root.cert}${leaf.cert}` })).toEqual([
      '/tls/ca.crt certificate 2 (CN=Test redis) is no authority: only certificates that sign others belong here',
    ]);
  });

  it('a leaf that signs: its certificates lead nowhere', async () => {
    const signer = await makeRedisLeaf(root, { withoutKeyUsage: true });
    const forged = await makeRedisLeaf({ ...signer, chain: signer.cert });
    expect(problemsOf(tlsFiles(forged, root))).toEqual([expect.stringContaining('leads to no root in ca.crt')]);
  });

  it('a leaf that was changed after it was signed', () => {
    const der = Buffer.from(leaf.cert.replace(/-----.*-----/g, ''), 'base64');
    der.writeUInt8(der.readUInt8(der.length - 1) ^ 1, der.length - 1);
    const changed = `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`;
    expect(problemsOf({ ...files, 'tls.crt': changed })).toEqual([
      expect.stringContaining('leads to no root in ca.crt'),
    ]);
  });

  it('a certificate for clients only', async () => {
    const client = await makeRedisLeaf(root, { usages: ['client'] });
    expect(problemsOf(tlsFiles(client, root))).toEqual([
      '/tls/tls.crt is not for servers: issue it with the usages "server auth" and "client auth"',
    ]);
  });

  it('too many authorities for a status', () => {
    expect(problemsOf({ ...files, 'ca.crt': root.cert.repeat(201) })).toEqual([
      '/tls/ca.crt holds 201 certificates, at most 200: list only authorities of this Redis',
    ]);
  });
});
