// Assembles the file system of an image: node scripts/image-root.mjs FOLDER [BUNDLE] [--with-redis]. The Containerfiles run
// this script, so that a folder made here contains the same as the image: the running Node, the libraries that it loads, the
// bundle, and the files of /etc that are needed to resolve names and users. No shell, no package manager. With Redis there is
// also what runs it, and a shell: it starts the agent again when it dies.
import { execFile } from 'node:child_process';
import {
  chmod,
  copyFile,
  cp,
  lutimes,
  mkdir,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { parseArgs, promisify } from 'node:util';

const { positionals, values } = parseArgs({ allowPositionals: true, options: { 'with-redis': { type: 'boolean' } } });
const [target, bundle = 'dist'] = positionals;
const withRedis = values['with-redis'] ?? false;
if (!target) throw new Error('usage: node scripts/image-root.mjs FOLDER [BUNDLE] [--with-redis]');
const run = promisify(execFile);

const NODE = '/usr/local/bin/node';
/** glibc loads it when it resolves names; ldd does not list it. */
const RESOLVER = 'libresolv.so.2';
const [USER, ID] = withRedis ? ['redis', 999] : ['attune', 65532];
const ETC = {
  'etc/passwd': `root:x:0:0:root:/:/sbin/nologin\n${USER}:x:${ID}:${ID}:${USER}:/:/sbin/nologin\n`,
  'etc/group': `root:x:0:\n${USER}:x:${ID}:\n`,
  'etc/nsswitch.conf': 'hosts: files dns\n',
};
/** Beside Node. Whoever works on a Redis expects redis-cli. */
const PROGRAMS = withRedis
  ? ['/usr/bin/redis-server', '/usr/bin/redis-cli', '/usr/bin/tini', '/bin/sh', '/bin/sleep']
  : [];
/** Volumes are mounted there; without one everybody may write, as who it is depends on how the image is copied. */
const FOLDERS = withRedis ? ['data', 'tmp'] : [];

async function libraries(program) {
  const { stdout } = await run('ldd', [program]);
  const paths = [...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path);
  const libc = paths.find((path) => path.endsWith('/libc.so.6'));
  if (!libc) throw new Error(`${program} is not linked with glibc: ${stdout}`);
  return [...paths, join(dirname(libc), RESOLVER)];
}

/** Where a program of the image is here: what scripts/setup.mjs had to link is in /usr/local/bin. */
async function found(program) {
  return await realpath(program).catch(() => realpath(join('/usr/local/bin', basename(program))));
}

/** Copies the file behind `path` to the same path in the image. */
async function place(path, destination = path) {
  const file = join(target, destination);
  await mkdir(dirname(file), { recursive: true });
  await copyFile(await realpath(path), file);
}

/** The Debian packages of these files. Searched by pattern, as the path in dpkg's database may begin with /usr or not. */
async function debianPackages(files) {
  const patterns = files.map((file) => `*/${basename(file)}`);
  const { stdout: owners } = await run('dpkg-query', ['--search', ...patterns]);
  const names = files.flatMap((file) =>
    owners.split('\n').flatMap((line) => {
      const [owner = '', path = ''] = line.split(/: (?=\/)/);
      return path.replace(/^\/usr/, '') === file.replace(/^\/usr/, '') ? [owner] : [];
    }),
  );
  // biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg-query fills these in.
  const format = ['--show', '--showformat', '${Package} ${Version}\n'];
  const { stdout } = await run('dpkg-query', [...format, ...new Set(names)]);
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.split(' '));
}

/** Adds what the image has from Debian to the bundle's bill of materials. */
async function describePackages(files) {
  const path = join(target, 'app/sbom.cdx.json');
  const bom = JSON.parse(await readFile(path, 'utf8'));
  for (const [name, version] of await debianPackages(files)) {
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}`;
    bom.components.push({ type: 'library', 'bom-ref': purl, name, version, purl });
    await place(`/usr/share/doc/${name}/copyright`);
  }
  await writeFile(path, `${JSON.stringify(bom, null, 2)}\n`);
}

/** Sets all times to zero, so that equal contents give an equal image. */
async function resetTimes() {
  for (const entry of await readdir(target, { recursive: true })) await lutimes(join(target, entry), 0, 0);
}

async function size() {
  const entries = await readdir(target, { recursive: true });
  const sizes = await Promise.all(entries.map(async (entry) => (await stat(join(target, entry))).size));
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}

await rm(target, { recursive: true, force: true });
await place(process.execPath, NODE);
const programs = await Promise.all(PROGRAMS.map(found));
for (const [at, program] of programs.entries()) await place(program, PROGRAMS[at]);
const loaded = new Set((await Promise.all([process.execPath, ...programs].map(libraries))).flat());
for (const library of loaded) await place(library);
await cp(bundle, join(target, 'app'), { recursive: true, filter: (path) => !path.endsWith('meta.json') });
await place('LICENSE', '/app/LICENSE');
if (withRedis) await place('scripts/redis-supervise.sh', '/app/redis-supervise.sh');
await describePackages([...loaded, ...programs]);
for (const [file, text] of Object.entries(ETC)) {
  await mkdir(dirname(join(target, file)), { recursive: true });
  await writeFile(join(target, file), text, { mode: 0o644 });
}
for (const folder of FOLDERS) {
  await mkdir(join(target, folder));
  await chmod(join(target, folder), 0o1777);
}
await resetTimes();
process.stdout.write(`${target}: ${Math.round((await size()) / 1024 / 1024)} MiB\n`);
