import { spawn, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { environment } from '../src/config/load.ts';
import { CTRL_C, killAllWith, openTerminal, processesWith, type Terminal } from './support/terminal.ts';
import { until } from './support/wait.ts';

// The set-up of a clone in which nothing is installed, with an npm that unpacks one package of two and never gets done.
const NPM = `#!/bin/sh
mkdir -p node_modules/one && echo '{}' >node_modules/one/package.json
exec sleep 600
`;

let clone: string;
beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), 'attune-set-up-'));
  for (const folder of ['bin', 'scripts']) mkdirSync(join(clone, folder));
  for (const file of ['setup.mjs', 'children.mjs']) {
    copyFileSync(join(import.meta.dirname, '../scripts', file), join(clone, 'scripts', file));
  }
  const version = '1.0.0';
  const packages = { '': {}, 'node_modules/one': { version }, 'node_modules/two': { version } };
  writeFileSync(join(clone, 'package-lock.json'), JSON.stringify({ packages }));
  writeFileSync(join(clone, 'bin', 'npm'), NPM, { mode: 0o755 });
});
afterEach(async () => {
  await until(() => killAllWith(clone) === 0, { what: 'the end of all processes' });
  rmSync(clone, { recursive: true });
});

const path = () => `${join(clone, 'bin')}:${environment()['PATH']}`;
const setUp = () => openTerminal('exec node scripts/setup.mjs modules', clone, { PATH: path() });

async function shows(terminal: Terminal, text: RegExp): Promise<void> {
  await until(() => text.test(terminal.screen()), { what: `${text} in:\n${terminal.screen()}` });
}

describe.skipIf(process.platform !== 'linux')('while the npm packages are installed', () => {
  test('a terminal shows every second how long it has taken and how far it is', async () => {
    const terminal = setUp();
    await shows(terminal, /set-up: first the npm packages \(npm ci\): about a minute/);
    // Which second shows what depends on the machine; that they go on does not.
    await shows(terminal, /0:\d+ npm ci: 1 of at most 2 packages are unpacked/);
    const seconds = () => new Set(terminal.screen().match(/0:\d+(?= npm ci: 1 of)/g)).size;
    await until(() => seconds() > 1, { what: 'another second' });
  });

  test.each([
    ['Ctrl-C', (terminal: Terminal) => terminal.press(CTRL_C), 130],
    ['a closed terminal', (terminal: Terminal) => terminal.close(), -1],
  ])('%s ends it, and npm too', async (_, end, code) => {
    const terminal = setUp();
    await shows(terminal, /npm ci: 1 of/);
    end(terminal);
    expect(await terminal.ended).toBe(code);
    await until(() => processesWith(clone).length === 0, { what: 'the end of all processes' });
  });

  test('the end of whoever runs it ends it too, without a terminal that hangs up', async () => {
    const script = 'node scripts/setup.mjs modules; true';
    const shell = spawn('sh', ['-c', script], { cwd: clone, env: { ...environment(), PATH: path() }, stdio: 'ignore' });
    await until(() => processesWith(clone).some(({ command }) => command === 'sleep 600'), { what: 'npm at work' });
    shell.kill('SIGKILL');
    await until(() => processesWith(clone).length === 0, { what: 'the end of all processes' });
  });
});

describe('the programs that tests run', () => {
  // A test that finds no Redis must not pass, and this says why it failed.
  test.each([
    ['redis-server', 'redis-server'],
    ['tini', 'tini'],
  ])('%s is there: else run `node scripts/setup.mjs test` as root, or apt-get install %s', (command) => {
    const folders = environment()['PATH']?.split(delimiter) ?? [];
    expect(folders.some((folder) => existsSync(join(folder, command)))).toBe(true);
  });
});

/** Takes every request, and writes it down. */
const APT = `#!/bin/sh
echo "$*" >>"$0.log"
`;

// Only root can install, and change what is mounted.
const isRoot = process.platform === 'linux' && process.getuid?.() === 0;

describe.skipIf(process.platform !== 'linux')('where Redis is missing', () => {
  const programs = () => join(clone, 'bin');

  /** The set-up with nothing but these programs, up to npm, which fails. What it links goes to a folder of its own. */
  function setUpWithout(mount = ''): string {
    for (const [name, file] of [
      ['node', process.execPath],
      ...['sh', 'tar', 'gzip', 'script'].map((each) => [each, `/bin/${each}`] as const),
    ] as const)
      symlinkSync(file, join(programs(), name));
    writeFileSync(join(programs(), 'npm'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    const env = { PATH: programs() };
    const command = ['-c', `${mount} exec "$0" scripts/setup.mjs test`, process.execPath];
    const [file, args] = mount === '' ? ['/bin/sh', command] : ['/usr/bin/unshare', ['--mount', '/bin/sh', ...command]];
    const { stdout, stderr } = spawnSync(file, args, { cwd: clone, env, encoding: 'utf8' });
    return stdout + stderr;
  }

  test('and cannot be installed, a sentence says what to ask for', () => {
    const said = setUpWithout();
    expect(said).toContain('set-up: redis-server is missing: it is what `attune agent redis` works with');
    expect(said).toContain('set-up: tini is missing');
    expect(said).toMatch(/going on without; if something fails, ask an administrator for: .*redis-server tini/);
  });

  test.skipIf(!isRoot)('it is installed without the service that would listen on port 6379', () => {
    writeFileSync(join(programs(), 'apt-get'), APT, { mode: 0o755 });
    const said = setUpWithout('/bin/mount -t tmpfs none /usr/local/bin &&');
    const asked = readFileSync(join(programs(), 'apt-get.log'), 'utf8');
    expect(asked).toMatch(/^update -q\ninstall -q -y --no-install-recommends .*redis-tools tini\n$/);
    expect(said).toContain('set-up: /usr/local/bin/redis-server is /usr/bin/redis-check-rdb, and nothing was started');
    expect(said).toContain('npm ci');
  });

  test.skipIf(!isRoot)('and what was installed cannot be given its name, a sentence says so', () => {
    writeFileSync(join(programs(), 'apt-get'), APT, { mode: 0o755 });
    const said = setUpWithout('/bin/mount -t tmpfs -o ro none /usr/local/bin &&');
    expect(said).toMatch(/redis-tools gives no redis-server \(.*\): install redis-server yourself, and run this again/);
    expect(said).not.toContain('npm ci');
  });
});
