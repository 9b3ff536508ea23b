import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
