import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath, getuid } from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeKubeconfig } from '../../../src/sandbox/control-plane/write-kubeconfig.ts';
import { api, namespace, runProgram, serviceAccount } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'attune-image-'));
// The program runs as somebody else.
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true }));

const script = (name: string, ...args: string[]) =>
  promisify(execFile)(execPath, [`scripts/${name}.mjs`, ...args], { cwd: ROOT });

const bundle = join(folder, 'bundle');
const root = join(folder, 'root');

beforeAll(async () => {
  await script('build', bundle);
  await script('sbom', bundle);
  await script('image-root', root, bundle);
});

const filesIn = (path: string) =>
  readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((each) => statSync(join(path, each)).isFile());

describe('the bundle', () => {
  it('has the same bytes when it is made again', async () => {
    const again = join(folder, 'again');
    await script('build', again);
    await script('sbom', again);
    expect(filesIn(again).sort()).toEqual(filesIn(bundle).sort());
    for (const file of filesIn(again).filter((each) => each !== 'meta.json')) {
      expect(readFileSync(join(again, file)).equals(readFileSync(join(bundle, file))), file).toBe(true);
    }
  });

  it('says what is inside, with version, licence and licence text', () => {
    const { components } = JSON.parse(readFileSync(join(bundle, 'sbom.cdx.json'), 'utf8'));
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const names = components.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining([...Object.keys(dependencies), 'node']));
    const texts = readFileSync(join(bundle, 'LICENSES.txt'), 'utf8');
    for (const { name, version, licenses } of components) {
      expect(texts).toContain(`\n${name} ${version} (${licenses[0].expression ?? licenses[0].license.id})\n`);
    }
  });
});

describe('the file system of the image', () => {
  it('holds the program, its libraries and nothing to work with', () => {
    const files = filesIn(root);
    expect(new Set(files.map((file) => file.split('/')[0]))).toEqual(new Set(['app', 'etc', 'lib', 'lib64', 'usr']));
    expect(files.filter((file) => /(^|\/)(s?bin)\//.test(file))).toEqual(['usr/local/bin/node']);
    expect(files.filter((file) => /npm|corepack|\.ts$|\.map$|meta\.json$/.test(file))).toEqual([]);
    const bytes = files.reduce((sum, file) => sum + statSync(join(root, file)).size, 0);
    expect(bytes / 1024 / 1024).toBeLessThan(150);
  });

  /** As the image's user, with nothing but the image's files and /proc, which every container has. */
  const inside = (...args: string[]) => [
    'unshare',
    '--mount',
    'sh',
    '-c',
    'mount -t proc proc "$0/proc" && exec chroot --userspec=65532:65532 "$0" "$@"',
    root,
    '/usr/local/bin/node',
    '/app/attune.mjs',
    ...args,
  ];

  // Only root may change the root.
  it.skipIf(getuid?.() !== 0)('runs every command that the image is for', async () => {
    const shop = await namespace('image');
    // A controller of the cluster makes it, a moment after the namespace.
    const published = () => api().find(`/api/v1/namespaces/${shop}/configmaps/kube-root-ca.crt`);
    await until(published, { what: 'kube-root-ca.crt' });
    mkdirSync(join(root, 'proc'));
    const read = { apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch'] };
    const write = { apiGroups: [''], resources: ['configmaps', 'secrets'], verbs: ['create', 'update'] };
    writeKubeconfig(join(root, 'kubeconfig'), 'image', await serviceAccount(shop, 'attune', [read, write]));
    chmodSync(join(root, 'kubeconfig'), 0o644);
    const address = `127.77.${1 + Math.floor(Math.random() * 250)}.1`;
    const env = { KUBECONFIG: '/kubeconfig', ATTUNE_LISTEN_ADDRESS: address, NODE_EXTRA_CA_CERTS: '' };
    for (const args of [
      ['help'],
      ['resume', '-n', shop],
      ['doctor', '-n', shop],
      ['impact', 'configmap/kube-root-ca.crt', '-n', shop],
    ]) {
      const program = runProgram(inside(...args), env);
      expect([await program.ended, program.lines], args.join(' ')).toEqual([0, expect.anything()]);
    }
    const controller = runProgram(inside(`--namespaces=${shop}`), { ...env, POD_NAMESPACE: shop });
    const ask = async (path: string) => (await fetch(`http://${address}:9090${path}`)).status === 200;
    await until(() => ask('/readyz'), { what: 'the controller being ready' });
    expect(await ask('/live')).toBe(true);
    expect(await ask('/metrics')).toBe(true);
    expect(await controller.terminate()).toBe(0);
  });
});
