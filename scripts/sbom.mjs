// Lists what the bundle contains: node scripts/sbom.mjs [FOLDER] writes dist/sbom.cdx.json (CycloneDX), and dist/LICENSES.txt
// with every licence text in full. It lists what esbuild has bundled according to dist/meta.json, so run scripts/build.mjs
// before.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const bundle = process.argv[2] ?? 'dist';
const readJson = async (path) => JSON.parse(await readFile(path, 'utf8'));
const facts = ['package.json', 'package-lock.json', join(bundle, 'meta.json')];
const [own, lock, meta] = await Promise.all(facts.map(readJson));

/** The folders of all packages that are part of the bundle, sorted. */
function bundledFolders() {
  const inputs = Object.values(meta.outputs).flatMap((output) =>
    Object.entries(output.inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
  );
  const folders = inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  return [...new Set(folders)].sort();
}

async function licenceText(folder) {
  const names = (await readdir(folder)).filter((name) => /^(licen[cs]e|notice|copying)/i.test(name)).sort();
  return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('\n');
}

async function describe(folder) {
  const { name, version, license, author } = await readJson(join(folder, 'package.json'));
  if (!license) throw new Error(`${name} ${version} states no licence`);
  const text = (await licenceText(folder)) || `${author?.name ?? author ?? name}. No licence text is included.`;
  return { name, version, license, text, integrity: lock.packages[folder]?.integrity };
}

function component({ name, version, license, integrity }) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  const digest = /^sha512-(.+)$/.exec(integrity ?? '')?.[1];
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    purl,
    licenses: [/[ ()]/.test(license) ? { expression: license } : { license: { id: license } }],
    ...(digest && { hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] }),
  };
}

/** Node, which the image contains; its npm package exists only for Linux. */
async function runtime() {
  const folder = (await readdir('node_modules')).find((name) => name.startsWith('node-linux-'));
  const text = folder ? await licenceText(join('node_modules', folder)) : 'See the licence of Node.js.';
  return { name: 'node', version: process.versions.node, license: 'MIT', text };
}

const parts = [...(await Promise.all(bundledFolders().map(describe))), await runtime()];
const bom = {
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: {
    component: {
      type: 'application',
      'bom-ref': own.name,
      name: own.name,
      version: own.version,
      licenses: [{ license: { id: own.license } }],
    },
  },
  components: parts.map(component),
};
await writeFile(join(bundle, 'sbom.cdx.json'), `${JSON.stringify(bom, null, 2)}\n`);

const rule = '='.repeat(80);
const chapters = parts.map(
  ({ name, version, license, text }) => `${rule}\n${name} ${version} (${license})\n${rule}\n\n${text}\n`,
);
await writeFile(join(bundle, 'LICENSES.txt'), chapters.join('\n'));

for (const { name, version, license } of parts) process.stdout.write(`${name} ${version}: ${license}\n`);
