// Bundles src/main.ts to dist/attune.mjs and its chunks: node scripts/build.mjs [FOLDER]. What is imported lazily becomes a
// chunk of its own, which a process that does not need it never loads. Equal sources give equal bytes.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

const folder = process.argv[2] ?? 'dist';

await rm(folder, { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: { attune: 'src/main.ts' },
  outdir: folder,
  outExtension: { '.js': '.mjs' },
  chunkNames: 'chunk-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  minifySyntax: true,
  minifyWhitespace: true,
  // The licence texts are shipped in full beside the bundle (scripts/sbom.mjs).
  legalComments: 'none',
  // CommonJS parts inside an ESM bundle still call `require` for Node's own modules.
  banner: {
    js: "import{createRequire as attuneRequire}from'node:module';const require=attuneRequire(import.meta.url);",
  },
  metafile: true,
  logLevel: 'warning',
});
await writeFile(join(folder, 'meta.json'), JSON.stringify(metafile));

for (const [file, { bytes, entryPoint }] of Object.entries(metafile.outputs)) {
  process.stdout.write(`${file} ${Math.round(bytes / 1024)} KiB${entryPoint ? `  ← ${entryPoint}` : ''}\n`);
}
