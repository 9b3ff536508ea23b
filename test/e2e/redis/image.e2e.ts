import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath, getuid } from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runProgram } from '../../support/sandbox.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'attune-image-'));
// The program runs as somebody else.
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true }));

const script = (name: string, ...args: string[]) =>
  promisify(execFile)(execPath, [`scripts/${name}.mjs`, ...args], { cwd: ROOT });

const root = join(folder, 'root');

beforeAll(async () => {
  const bundle = join(folder, 'bundle');
  await script('build', bundle);
  await script('sbom', bundle);
  await script('image-root', root, bundle, '--with-redis');
  for (const mounted of ['proc', 'dev']) mkdirSync(join(root, mounted));
});

const containerfile = readFileSync(join(ROOT, 'Containerfile.redis'), 'utf8');
const instruction = (name: string): string =>
  new RegExp(`^${name} (.*)$`, 'gm').exec(containerfile.slice(containerfile.lastIndexOf('\nFROM ')))?.[1] ?? '';
const ENTRYPOINT: readonly string[] = JSON.parse(instruction('ENTRYPOINT'));

const filesIn = (path: string) =>
  readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((each) => statSync(join(path, each)).isFile());

describe('the file system of the image for Redis', () => {
  it('holds what runs Redis, and nothing else to work with', () => {
    const files = filesIn(root).filter((file) => !/^(dev|proc)\//.test(file));
    expect(files.filter((file) => /(^|\/)(s?bin)\//.test(file)).toSorted()).toEqual([
      ...['bin/sh', 'bin/sleep', 'usr/bin/redis-cli', 'usr/bin/redis-server', 'usr/bin/tini', 'usr/local/bin/node'],
    ]);
    const bytes = files.reduce((sum, file) => sum + statSync(join(root, file)).size, 0);
    expect(bytes / 1024 / 1024).toBeLessThan(160);
  });

  it('says what is inside, also what is from Debian, with version and licence', () => {
    const { components } = JSON.parse(readFileSync(join(root, 'app/sbom.cdx.json'), 'utf8'));
    const versions = new Map(components.map((each: { name: string; version: string }) => [each.name, each.version]));
    expect([...versions.keys()]).toEqual(expect.arrayContaining(['node', '@redis/client', 'libc6', 'libssl3']));
    expect(versions.get('redis-tools')).toMatch(/^5:7\.0\./);
    for (const name of ['redis-tools', 'tini', 'dash', 'coreutils', 'libjemalloc2']) {
      expect(versions.get(name), name).toMatch(/\d/);
      expect(readFileSync(join(root, 'usr/share/doc', name, 'copyright'), 'utf8')).not.toBe('');
    }
  });

  it('has folders that the user of the image may write to', () => {
    for (const name of ['data', 'tmp']) expect(statSync(join(root, name)).mode & 0o7777, name).toBe(0o1777);
    expect(instruction('USER')).toBe('999:999');
    expect(readFileSync(join(root, 'etc/passwd'), 'utf8')).toContain('redis:x:999:999:');
  });
});

// Only root may change the root.
describe.skipIf(getuid?.() !== 0)('in the image', () => {
  const [, PATH = ''] = instruction('ENV').split('=');

  /** As the image's user and process 1, with the image's files and what every container has; ends with what it started. */
  async function inside(
    ...words: readonly string[]
  ): Promise<{ readonly code: number | string; readonly said: string }> {
    const enter =
      'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot --userspec=999:999 "$0" "$@"';
    const container = ['unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh', '-c', enter, root];
    const program = runProgram([...container, ...words], { PATH: `${PATH}:/usr/sbin:/sbin` });
    return { code: await program.ended, said: program.lines.join('\n') };
  }

  it.each([
    ['redis-server', ['/usr/bin/redis-server', '--version'], /v=7\.0\./],
    ['redis-cli', ['/usr/bin/redis-cli', '--version'], /redis-cli 7\.0\./],
    ['tini', ['/usr/bin/tini', '--version'], /tini version/],
    ['a shell', ['/bin/sh', '-c', 'sleep 0 && echo "$0 works"'], /works/],
  ])('%s runs', async (_, words, expected) => {
    const { code, said } = await inside(...words);
    expect([code, said]).toEqual([0, expect.stringMatching(expected)]);
  });

  it('Redis serves, with TLS at hand', async () => {
    const start = 'redis-server --port 0 --tls-port 0 --dir /data --unixsocket /tmp/r.sock --daemonize yes';
    const ask =
      'until redis-cli -s /tmp/r.sock ping; do sleep 0.1; done; redis-cli -s /tmp/r.sock config get tls-protocols';
    const { code, said } = await inside(
      '/bin/sh',
      '-c',
      `${start} && ${ask} && redis-cli -s /tmp/r.sock shutdown nosave`,
    );
    expect([code, said]).toEqual([0, expect.stringMatching(/PONG[\s\S]*tls-protocols/)]);
  });

  it('the entry point leads to the agent, which says how it is used', async () => {
    const { code, said } = await inside(...ENTRYPOINT, '--help');
    expect([code, said]).toEqual([0, expect.stringContaining('--cluster-name')]);
  });

  it('an agent that is not told who it is says so and ends, with its own code', async () => {
    const { code, said } = await inside(...ENTRYPOINT);
    expect([code, said]).toEqual([1, expect.stringContaining('CLUSTER_NAME')]);
  });
});
