import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ReleaseSite, releaseSite } from '../../../test/support/release-site.ts';
import { type BinaryOptions, findBinaries, firstRunNotice } from './binaries.ts';
import { BINARY_NAMES, type BinaryName, thisPlatform } from './projects.ts';
import { releaseRow } from './release-sums.ts';

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
  return findBinaries(
    names,
    { env, sites: site.sites, sums: site.sums, modules: join(dir, 'none'), ...options },
    (line) => {
      lines.push(line);
    },
  );
};
/** A go command that makes a program of its own. */
function withGo(project: string): Partial<BinaryOptions> {
  const go = `#!/bin/sh\n[ "$1" = list ] && exit\nwhile [ "$1" != -o ]; do shift; done\nprintf '#!/bin/sh\\necho built\\n' >"$2"; chmod +x "$2"\n`;
  const [bin, modules] = [join(dir, 'go'), join(dir, 'modules')];
  for (const folder of [bin, join(modules, project)]) mkdirSync(folder, { recursive: true });
  writeFileSync(join(bin, 'go'), go, { mode: 0o755 });
  writeFileSync(join(modules, project, 'go.mod'), 'module x\n');
  return { env: { XDG_CACHE_HOME: dir, PATH: `${bin}:/usr/bin:/bin` }, modules };
}
const says = (path: string) => execFileSync(path, { encoding: 'utf8' }).trim();
const leftovers = () =>
  readdirSync(join(dir, 'attune', 'bin'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.(part|lock|build|unpacked)/.test(file),
  );

describe.skipIf(process.platform !== 'linux')('programs from an official release', () => {
  test('are loaded, compared with the sum of the table, and found in the cache the next time', async () => {
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

  test('are refused and built when they are not what the table says', async () => {
    site.mischief = 'other-bytes';
    const [[row, sum] = []] = Object.entries(site.sums).filter(([name]) => name.startsWith('kwok '));
    expect(says((await find(['kwok'], withGo('kwok'))).kwok)).toBe('built');
    const refused = new RegExp(`^kwok \\S+: release: .*kwok-linux-\\S+ has SHA-256 [0-9a-f]{64}, and not ${sum}`);
    expect(row).toMatch(/^kwok \S+ linux\//);
    expect(lines).toContainEqual(expect.stringMatching(refused));
    expect(leftovers()).toEqual([]);
  });

  test.each([
    ['the table has no row', {}],
    [
      'nobody filled the sum in',
      Object.fromEntries(BINARY_NAMES.map((name) => [releaseRow(name, thisPlatform()), ''])),
    ],
  ])('are never asked for, but built, when %s', async (_, sums) => {
    expect(says((await find(['kwok'], { ...withGo('kwok'), sums })).kwok)).toBe('built');
    expect(site.requests).toEqual([]);
    expect(lines).toContainEqual(
      expect.stringMatching(/^kwok \S+: release: not downloaded, no checksum is known of kwok \S+ linux\/\w+$/),
    );
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

test.each(['built', 'downloaded'] as const)('a first start takes 8 to 15 minutes at worst, and says so: %s', (way) => {
  const text = firstRunNotice(['etcd', 'kubernetes', 'kwok'], way, '/cache');
  expect(text.includes('Releases take a minute or two')).toBe(way === 'downloaded');
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

test('a cache that cannot be written to says what else there is', async () => {
  const env = { XDG_CACHE_HOME: '/dev/null' };
  await expect(find(['etcd'], { env })).rejects.toThrow(
    '/dev/null/attune/bin is not writable; set XDG_CACHE_HOME, or name a folder with the programs: --binaries, ',
  );
});
