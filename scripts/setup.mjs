// Installs what is missing before `npm start`, `npm test` and `./attune` can do their work. It runs before anything is
// installed: on Node 20 or newer, without dependencies.
//
//   node scripts/setup.mjs modules   the npm packages
//   node scripts/setup.mjs start     and the programs of the sandbox
//   node scripts/setup.mjs test      and what only tests need
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { run as runChild, withStatusLine } from './children.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const NODE_WANTED = 24;
const SANDBOX = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl', 'kwok'];

/** What the operating system must have: a command or a file, and the Debian package that contains it. */
const SYSTEM = [
  { command: 'tar', package: 'tar', why: 'unpacks the releases of etcd and Helm' },
  { command: 'gzip', package: 'gzip', why: 'unpacks the releases of etcd and Helm' },
  {
    file: '/etc/ssl/certs/ca-certificates.crt',
    package: 'ca-certificates',
    why: 'lets Go load the sources of the sandbox',
  },
  {
    command: 'redis-server',
    package: 'redis-server',
    why: 'is what `attune agent redis` works with, here and in the tests',
    // The same program under another name, in a package without a service: redis-server would listen on port 6379 from now on.
    quiet: { package: 'redis-tools', file: '/usr/bin/redis-check-rdb', link: '/usr/local/bin/redis-server' },
  },
  { command: 'tini', package: 'tini', why: 'is PID 1 of the image for Redis, which tests run', onlyFor: 'test' },
  { command: 'script', package: 'bsdutils', why: 'gives tests a terminal', onlyFor: 'test' },
];

const STEPS = { modules: [modules, node], start: [system, modules, node, start], test: [system, modules, node, test] };

const wanted = process.argv[2] ?? 'start';
const steps = STEPS[wanted];
if (!steps) fail(`there is no set-up "${wanted}"; there are ${Object.keys(STEPS).join(', ')}`);
for (const step of steps) await step();

/** Runs `npm ci`, unless npm's list of installed packages agrees with the lockfile. */
async function modules() {
  if (isInstalled()) return;
  const paths = Object.keys(lockedPackages()).filter((path) => path !== '');
  say(
    `first the npm packages (npm ci): about a minute${wanted === 'modules' ? '' : ', then the programs of the sandbox'}`,
  );
  const started = Date.now();
  const status = () => {
    const there = paths.filter((path) => existsSync(join(root, path, 'package.json'))).length;
    // Packages for other platforms are never unpacked.
    return `npm ci: ${there} of at most ${paths.length} packages are unpacked`;
  };
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--no-progress', '--loglevel=error'];
  const ending = await withStatusLine(status, () => runChild('npm', args, { cwd: root }));
  check(ending, 'npm ci', 'is the npm registry reachable?');
  say(`npm packages installed after ${seconds(started)} s`);
}

function isInstalled() {
  const list = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(list)) return false;
  const found = JSON.parse(readFileSync(list, 'utf8')).packages;
  return Object.entries(lockedPackages()).every(([path, { version, optional, devOptional }]) => {
    return path === '' || optional || devOptional || found[path]?.version === version;
  });
}

function lockedPackages() {
  return JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
}

/** On Linux an npm package contains Node; on other systems the user must have installed it. */
function node() {
  const { stdout } = spawnSync('node', ['--version'], { env: environment(), encoding: 'utf8' });
  if (Number(/^v(\d+)/.exec(stdout ?? '')?.[1]) >= NODE_WANTED) return;
  fail(
    `Node ${NODE_WANTED} or newer is needed, and npm has none for this platform: install it from https://nodejs.org`,
  );
}

async function start() {
  await binaries(SANDBOX);
}

async function test() {
  await binaries([...SANDBOX, 'helm']);
}

/** Prints nothing if all programs are there; otherwise the command shows its own progress. */
async function binaries(names) {
  const started = Date.now();
  const args = [join(root, 'src', 'main.ts'), 'sandbox', 'binaries', ...names];
  const options = { cwd: root, env: environment(), stdio: ['ignore', 'ignore', 'inherit'] };
  const { status } = await runChild('node', args, options);
  if (status !== 0) fail('the programs of the sandbox could not be obtained; the lines above say why and what helps');
  if (Date.now() - started > 5000) say(`programs of the sandbox ready after ${seconds(started)} s`);
}

async function system() {
  if (process.platform !== 'linux') return;
  const needs = SYSTEM.filter(({ onlyFor = wanted }) => onlyFor === wanted);
  const missing = needs.filter((need) => !(need.command ? isCommand(need.command) : existsSync(need.file)));
  if (missing.length === 0) return;
  const packages = missing.map((need) => need.package);
  for (const need of missing) say(`${need.package} is missing: it ${need.why}`);
  if (isCommand('apt-get') && process.getuid?.() === 0) {
    const quiet = missing.map((need) => need.quiet?.package ?? need.package);
    say(`installing ${quiet.join(', ')}`);
    await run('apt-get', ['update', '-q'], 'are the Debian mirrors reachable?');
    await run('apt-get', ['install', '-q', '-y', '--no-install-recommends', ...quiet], 'see the lines above');
    for (const need of missing) if (need.quiet && !isCommand(need.command)) link(need);
  } else {
    // Perhaps nothing needs them: a download works without certificates for Go, a build without tar.
    say(`going on without; if something fails, ask an administrator for: apt-get install ${packages.join(' ')}`);
  }
}

/** Gives a program of a quiet package the name by which it is asked for. */
function link(need) {
  const { package: from, file, link: name } = need.quiet;
  try {
    if (!existsSync(file)) throw new Error(`there is no ${file} in it`);
    symlinkSync(file, name);
    say(`${name} is ${file}, and nothing was started`);
  } catch (error) {
    fail(`${from} gives no ${need.command} (${error.message}): install ${need.package} yourself, and run this again`);
  }
}

function isCommand(name) {
  return environment()
    .PATH.split(delimiter)
    .some((folder) => folder !== '' && existsSync(join(folder, name)));
}

/** The user's environment, with the programs of the npm packages first in PATH, and with the user's proxy for Node. */
function environment() {
  const { env } = process;
  const path = `${join(root, 'node_modules', '.bin')}${delimiter}${env.PATH ?? ''}`;
  return { ...env, PATH: path, NODE_USE_ENV_PROXY: '1' };
}

async function run(command, args, cure) {
  check(await runChild(command, args, { cwd: root }), `${command} ${args[0]}`, cure);
}

function check({ status, error }, what, cure) {
  if (status !== 0) fail(`${what} ${error ? `could not be run (${error.message})` : 'failed'}: ${cure}`);
}

function say(line) {
  process.stdout.write(`set-up: ${line}\n`);
}

function fail(line) {
  process.stderr.write(`set-up: ${line}\n`);
  process.exit(1);
}

function seconds(since) {
  return Math.round((Date.now() - since) / 1000);
}
