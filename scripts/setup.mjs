// Installs what is missing before `npm start`, `npm test` and `./attune` can do their work. It runs before anything is
// installed: on Node 20 or newer, without dependencies.
//
//   node scripts/setup.mjs modules   the npm packages
//   node scripts/setup.mjs start     and the programs of the sandbox
//   node scripts/setup.mjs test      and what only tests need
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const NODE_WANTED = 24;
const SANDBOX = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl', 'kwok'];

/** What the operating system has to have: either a command or a file, and the Debian package that brings it. */
const SYSTEM = [
  { command: 'tar', package: 'tar', why: 'unpacks the releases of etcd and Helm' },
  { command: 'gzip', package: 'gzip', why: 'unpacks the releases of etcd and Helm' },
  {
    file: '/etc/ssl/certs/ca-certificates.crt',
    package: 'ca-certificates',
    why: 'lets Go load the sources of the sandbox',
  },
];

const STEPS = { modules: [modules, node], start: [system, modules, node, start], test: [system, modules, node, test] };

const steps = STEPS[process.argv[2] ?? 'start'];
if (!steps) fail(`there is no set-up "${process.argv[2]}"; there are ${Object.keys(STEPS).join(', ')}`);
for (const step of steps) step();

/** npm's own note of what it has installed is compared with the lockfile, so a change of either is seen. */
function modules() {
  if (isInstalled()) return;
  say('installing the npm packages (npm ci)');
  const started = Date.now();
  run(
    'npm',
    ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    'is the npm registry reachable?',
  );
  say(`npm packages installed after ${seconds(started)} s`);
}

function isInstalled() {
  const note = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(note)) return false;
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const found = JSON.parse(readFileSync(note, 'utf8')).packages;
  return Object.entries(wanted).every(([path, { version, optional, devOptional }]) => {
    return path === '' || optional || devOptional || found[path]?.version === version;
  });
}

/** Linux gets its Node as an npm package; elsewhere it must be there. */
function node() {
  const { stdout } = spawnSync('node', ['--version'], { env: environment(), encoding: 'utf8' });
  if (Number(/^v(\d+)/.exec(stdout ?? '')?.[1]) >= NODE_WANTED) return;
  fail(
    `Node ${NODE_WANTED} or newer is needed, and npm has none for this platform: install it from https://nodejs.org`,
  );
}

function start() {
  binaries(SANDBOX);
}

function test() {
  binaries([...SANDBOX, 'helm']);
}

/** Silent when all are there; otherwise the command itself says what it does and how far it is. */
function binaries(names) {
  const started = Date.now();
  const args = [join(root, 'src', 'main.ts'), 'sandbox', 'binaries', ...names];
  const { status } = spawnSync('node', args, { cwd: root, env: environment(), stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) fail('the programs of the sandbox could not be obtained; the lines above say why and what helps');
  if (Date.now() - started > 5000) say(`programs of the sandbox ready after ${seconds(started)} s`);
}

function system() {
  if (process.platform !== 'linux') return;
  const missing = SYSTEM.filter((need) => !(need.command ? isCommand(need.command) : existsSync(need.file)));
  if (missing.length === 0) return;
  const packages = missing.map((need) => need.package);
  for (const need of missing) say(`${need.package} is missing: it ${need.why}`);
  if (isCommand('apt-get') && process.getuid?.() === 0) {
    say(`installing ${packages.join(', ')}`);
    run('apt-get', ['update', '-q'], 'are the Debian mirrors reachable?');
    run('apt-get', ['install', '-q', '-y', '--no-install-recommends', ...packages], 'see the lines above');
  } else {
    // The work may get along without: a release needs no certificates for Go, a build no tar.
    say(`going on without; if something fails, ask an administrator for: apt-get install ${packages.join(' ')}`);
  }
}

function isCommand(name) {
  return environment()
    .PATH.split(delimiter)
    .some((folder) => folder !== '' && existsSync(join(folder, name)));
}

/** The caller's environment, with the programs of the npm packages before all others, and his proxy respected. */
function environment() {
  const { env } = process;
  const path = `${join(root, 'node_modules', '.bin')}${delimiter}${env.PATH ?? ''}`;
  return { ...env, PATH: path, NODE_USE_ENV_PROXY: '1' };
}

function run(command, args, cure) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) fail(`${command} ${args[0]} ${error ? `could not be run (${error.message})` : 'failed'}: ${cure}`);
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
