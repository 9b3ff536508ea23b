import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

/**
 * What each folder of src may import beside itself. This table is the architecture: a folder without a row may import
 * nothing, and features beside each other never see one another.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  api: [],
  runtime: ['api'],
  domain: ['api'],
  config: ['api', 'domain'],
  telemetry: ['runtime'],
  kube: ['api', 'runtime'],
  model: ['api', 'domain', 'runtime', 'kube'],
  controller: ['api', 'domain', 'runtime', 'telemetry', 'kube', 'model'],
  sandbox: ['api', 'runtime', 'kube'],
  cli: ['api', 'domain', 'config', 'runtime', 'telemetry', 'kube', 'model', 'controller', 'sandbox'],
  'main.ts': ['cli'],
};

/** Packages and parts of Node that only these folders may use; `domain` and `api` use nothing of Node at all. */
const PURE = ['api', 'domain'];
const PURE_PACKAGES = ['re2js'];

const src = join(import.meta.dirname, '../src');
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => /(?<!\.test)\.tsx?$/.test(file));
const folderOf = (path: string): string => path.split('/')[0] ?? '';

/** `import … from`, `export … from`, `import '…'` and `import('…')`, whatever the quotes. */
function importsOf(text: string): readonly string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');
  const found = code.matchAll(/(?:\bfrom\s*|\bimport\s*\(\s*|\bimport\s+)(['"`])([^'"`\s]+)\1/g);
  return Array.from(found, ([, , path = '']) => path);
}

/** What a file imports against the table. */
function offences(file: string, text: string): readonly string[] {
  const folder = folderOf(file);
  const allowed = new Set([folder, ...(MAY_IMPORT[folder] ?? [])]);
  return importsOf(text).filter((path) => {
    if (!path.startsWith('.')) return PURE.includes(folder) && !PURE_PACKAGES.includes(path);
    return !allowed.has(folderOf(relative(src, join(src, dirname(file), path))));
  });
}

describe('imports follow the table', () => {
  it.each(files)('%s', (file) => {
    expect(offences(file, readFileSync(join(src, file), 'utf8'))).toEqual([]);
  });

  it.each(files)('%s loads no package lazily: in the bundle it would have another shape', (file) => {
    const lazy = readFileSync(join(src, file), 'utf8').matchAll(/\bimport\(\s*['"`]([^'"`]+)['"`]/g);
    expect(Array.from(lazy, ([, path]) => path).filter((path) => !/^(\.|node:)/.test(path ?? ''))).toEqual([]);
  });

  it('has a row for every folder, and none without', () => {
    const here = readdirSync(src, { withFileTypes: true }).filter(({ name }) => !name.includes('.test.'));
    expect(here.map(({ name }) => name).sort()).toEqual(Object.keys(MAY_IMPORT).sort());
  });
});

describe('the test itself sees', () => {
  const path = '../sandbox/sandbox.ts';

  it.each([
    ['an import', `import { startSandbox } from '${path}';`],
    ['an import of types', `import type { Sandbox } from "${path}";`],
    ['an import over several lines', `import {\n  startSandbox,\n} from '${path}';`],
    ['an import for its effect', `import '${path}';`],
    ['a lazy import', `const { startSandbox } = await import('${path}');`],
    ['an import that is a type', `type Sandbox = import('${path}').Sandbox;`],
    ['an export', `export { startSandbox } from '${path}';`],
  ])('%s', (_, text) => {
    expect(offences('controller/controller.ts', text)).toEqual([path]);
    expect(offences('controller/view.tsx', text)).toEqual([path]);
    expect(offences('cli/cli.ts', text)).toEqual([]);
  });

  it('Node and packages in the pure folders', () => {
    const text =
      "import { readFileSync } from 'node:fs';\nimport { parse } from 'yaml';\nimport { RE2JS } from 're2js';";
    expect(offences('domain/judge.ts', text)).toEqual(['node:fs', 'yaml']);
    expect(offences('kube/client.ts', text)).toEqual([]);
  });

  it('no import in a comment', () => {
    expect(offences('domain/judge.ts', `// from '${path}'\n/* import '${path}' */`)).toEqual([]);
  });
});
