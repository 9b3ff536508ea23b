import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ReleaseSite, releaseSite } from '../../../test/support/release-site.ts';
import { type BinaryOptions, findBinaries, firstRunNotice } from './binaries.ts';
import { publishedChecksum } from './download.ts';
import { BINARY_NAMES, type BinaryName } from './projects.ts';

let dir: string;
let lines: string[];
let site: ReleaseSite;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'attune-binaries-'));
  lines = [];
  site = await releaseSite();
});
afterEach(async () => {
  await site.close();
  rmSync(dir, { recursive: true });
});

const find = <Name extends BinaryName>(names: readonly Name[], options: Partial<BinaryOptions> = {}) => {
  // Without Go on the path and without modules, the last way fails quickly.
  const env = { XDG_CACHE_HOME: dir, PATH: '/nowhere' };
  return findBinaries(names, { env, sites: site.sites, modules: join(dir, 'none'), ...options }, (line) => {
    lines.push(line);
  });
};
const says = (path: string) => execFileSync(path, { encoding: 'utf8' }).trim();
const leftovers = () =>
  readdirSync(join(dir, 'attune', 'bin'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.(part|lock|build|unpacked)/.test(file),
  );

describe.skipIf(process.platform !== 'linux')('programs from an official release', () => {
  test('are loaded, compared with the published sum, and found in the cache the next time', async () => {
    const paths = await find(BINARY_NAMES);
    for (const name of BINARY_NAMES) expect(says(paths[name])).toBe(name);
    expect(leftovers()).toEqual([]);
    const asked = site.requests.length;
    expect(await find(BINARY_NAMES)).toEqual(paths);
    expect(site.requests.length).toBe(asked);
  });

  test('are announced once, and what is done is told all the time', async () => {
    const states: string[] = [];
    await find(['etcd', 'kubectl', 'kwok'], { showStatus: (status) => states.push(status) });
    expect(lines.filter((line) => line.startsWith('the first time'))).toEqual([lines[0]]);
    const steps = [
      /^etcd 3\.\S+ \(1 of 3\): loading etcd-v3/,
      /^kubernetes 1\.\S+ \(2 of 3\): /,
      /^kwok \S+ \(3 of 3\): /,
    ];
    for (const step of steps) expect(states).toContainEqual(expect.stringMatching(step));
    expect(states).toContainEqual(expect.stringMatching(/: loading kubectl, \d+ of \d+ MB$/));
    lines.length = 0;
    states.length = 0;
    await find(['etcd', 'kubectl', 'kwok'], { showStatus: (status) => states.push(status) });
    expect([...lines, ...states]).toEqual([]);
  });

  test('are not taken when their sum is wrong', async () => {
    site.mischief = 'wrong-sum';
    await expect(find(['kubectl'])).rejects.toThrow(`but ${'0'.repeat(64)} is published`);
    expect(leftovers()).toEqual([]);
    site.mischief = undefined;
    expect(says((await find(['kubectl'])).kubectl)).toBe('kubectl');
  });

  test('are not taken without a sum', async () => {
    site.mischief = 'no-sum';
    await expect(find(['kwok'])).rejects.toThrow('answered 404');
    expect(site.requests.some((path) => path.includes('/download/'))).toBe(false);
  });

  test.each(['etcd', 'kwok', 'kube-apiserver'] as const)('%s goes on where a cut left it', async (name) => {
    site.mischief = 'cut-once';
    expect(says((await find([name]))[name])).toBe(name);
    expect(site.requests.filter((path) => path.includes('bytes='))).toHaveLength(1);
  });

  test('are continued by a later run', async () => {
    site.mischief = 'cut-always';
    await expect(find(['kubectl'])).rejects.toThrow('kubernetes 1.36.3 could not be obtained');
    expect(leftovers()).toEqual([expect.stringContaining('.kubectl.part')]);
    site.mischief = undefined;
    site.requests.length = 0;
    expect(says((await find(['kubectl'])).kubectl)).toBe('kubectl');
    expect(site.requests.some((path) => path.includes('bytes='))).toBe(true);
  });

  test('begin anew where a server cannot continue', async () => {
    site.mischief = 'cut-always';
    await expect(find(['kubectl'])).rejects.toThrow();
    site.mischief = 'no-ranges';
    expect(says((await find(['kubectl'])).kubectl)).toBe('kubectl');
  });

  test('are given up where they are not published, and every way says why in one line', async () => {
    site.mischief = 'missing';
    const failure = await find(['etcd']).catch((error: Error) => error.message);
    expect(failure).toMatch(/release: .*etcd-v3\.6\.13-linux-\S+ answered 404/);
    expect(failure).toMatch(/go build: .+/);
    expect(failure).toContain('cure:');
    expect(lines.filter((line) => line.includes('answered 404'))).toHaveLength(1);
    for (const line of lines) expect(line).not.toContain('\n');
  });

  test('are given up where nobody listens', async () => {
    await site.close();
    await expect(find(['kwok'])).rejects.toThrow('ECONNREFUSED');
  });

  test('are loaded once when two start at the same time', async () => {
    const [one, two] = await Promise.all([find(['kubectl']), find(['kubectl'])]);
    expect(one).toEqual(two);
    expect(site.requests.filter((path) => path.endsWith('/kubectl'))).toHaveLength(1);
    expect(lines.some((line) => line.includes('is getting it; waiting'))).toBe(true);
  });

  test('stop being loaded when the user has had enough', async () => {
    const stop = new AbortController();
    stop.abort(new Error('enough'));
    await expect(find(['kubectl'], { signal: stop.signal })).rejects.toThrow('enough');
  });
});

test('a folder named by the user is asked first, and what it lacks comes from the next way', async () => {
  const folder = join(dir, 'own');
  mkdirSync(folder);
  writeFileSync(join(folder, 'etcd'), '');
  chmodSync(join(folder, 'etcd'), 0o755);
  const env = { XDG_CACHE_HOME: dir, KUBEBUILDER_ASSETS: folder };
  const { etcd, kwok } = await find(['etcd', 'kwok'], { env });
  expect(etcd).toBe(join(folder, 'etcd'));
  expect(says(kwok)).toBe('kwok');
  expect(lines).toContain(`kwok: not in ${folder}`);
  expect((await find(['etcd'], { folder: join(dir, 'other') })).etcd).not.toContain('own');
});

test('a first start takes 8 to 15 minutes at worst, and that is said before', () => {
  const text = firstRunNotice(['etcd', 'kubernetes', 'kwok'], '/cache');
  expect(text).toMatch(/etcd 3\.\S+, kubernetes 1\.\S+, kwok 0\.\S+ must be fetched/);
  expect(text).toContain('about 8 to 15 minutes');
  expect(text).toContain('/cache');
});

test('without Go it says so', async () => {
  site.mischief = 'missing';
  mkdirSync(join(dir, 'modules', 'kwok'), { recursive: true });
  writeFileSync(join(dir, 'modules', 'kwok', 'go.mod'), 'module x\n');
  await expect(find(['kwok'], { modules: join(dir, 'modules') })).rejects.toThrow('Go is not installed');
});

describe('a published sum', () => {
  const sum = 'ab'.repeat(32);
  test.each([
    ['bare', sum],
    ['bare with a line end', `${sum}\n`],
    ['in a list', `${'cd'.repeat(32)}  other\n${sum}  file\n`],
    ['in a list of binary files', `${sum} *file\n`],
    ['in the description of a release', JSON.stringify({ assets: [{ name: 'file', digest: `sha256:${sum}` }] })],
  ])('is read %s', (_form, text) => {
    expect(publishedChecksum(text, 'file')).toBe(sum);
  });

  test.each([
    ['of another file', `${sum}  other\n`],
    ['too short', 'abcd'],
    ['of another kind', JSON.stringify({ assets: [{ name: 'file', digest: `sha512:${sum}` }] })],
    ['of a page that says no', '<html>404</html>'],
  ])('is not read %s', (_form, text) => {
    expect(publishedChecksum(text, 'file')).toBeUndefined();
  });

  test('is a SHA-256 or nothing, whatever the text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(publishedChecksum(text, 'file') ?? sum).toMatch(/^[0-9a-f]{64}$/);
      }),
    );
  });
});

test('a cache that cannot be written to says what else there is', async () => {
  const env = { XDG_CACHE_HOME: '/dev/null' };
  await expect(find(['etcd'], { env })).rejects.toThrow(
    '/dev/null/attune/bin is not writable; set XDG_CACHE_HOME, or name a folder with the programs: --binaries, ',
  );
});
