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
  admission: ['api', 'domain', 'runtime', 'telemetry', 'kube', 'model'],
  agent: ['api', 'domain', 'runtime', 'telemetry', 'kube'],
  sandbox: ['api', 'runtime', 'kube'],
  cli: [
    'api',
    'domain',
    'config',
    'runtime',
    'telemetry',
    'kube',
    'model',
    'controller',
    'admission',
    'agent',
    'sandbox',
  ],
  'main.ts': ['cli'],
};

/** Packages and parts of Node that only these folders may use; `domain` and `api` use nothing of Node at all. */
const PURE = ['api', 'domain'];
const PURE_PACKAGES = ['re2js'];

const src = join(import.meta.dirname, '../src');
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => /(?<!\.test)\.tsx?$/.test(file));
const folderOf = (path: string): string => path.split('/')[0] ?? '';

/** The files of src that are not tests, with their text. */
const sources = new Map(files.map((file) => [file, readFileSync(join(src, file), 'utf8')]));

const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');

/** `import … from`, `export … from`, `import '…'` and `import('…')`, whatever the quotes. */
function importsOf(text: string): readonly string[] {
  const found = withoutComments(text).matchAll(/(?:\bfrom\s*|\bimport\s*\(\s*|\bimport\s+)(['"`])([^'"`\s]+)\1/g);
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
    expect(offences(file, sources.get(file) ?? '')).toEqual([]);
  });

  it.each(files)('%s loads no package lazily: in the bundle it would have another shape', (file) => {
    const lazy = (sources.get(file) ?? '').matchAll(/\bimport\(\s*['"`]([^'"`]+)['"`]/g);
    expect(Array.from(lazy, ([, path]) => path).filter((path) => !/^(\.|node:)/.test(path ?? ''))).toEqual([]);
  });

  it('has a row for every folder, and none without', () => {
    const here = readdirSync(src, { withFileTypes: true }).filter(({ name }) => !name.includes('.test.'));
    expect(here.map(({ name }) => name).sort()).toEqual(Object.keys(MAY_IMPORT).sort());
  });
});

/** All that the model may use at run time from outside `api`, `domain`, `runtime` and itself: none of it writes anywhere. */
const MODEL_VALUES: Readonly<Record<string, readonly string[]>> = {
  'node:crypto': ['createHash'],
  'kube/kube-error.ts': ['KubeError'],
  'kube/retry-transient.ts': ['isTransient'],
};

/** The model gets a client to read with; these methods of it send something else than a read. */
const WRITES = /\bclient\s*\??\.\s*(?:create|patch|replace|delete|evict|requestToken)\b/g;

/** What a file imports at run time, by path; `*` for whatever is imported without names. Types are left out. */
function valuesImported(text: string): readonly (readonly [path: string, name: string])[] {
  const code = withoutComments(text);
  const named = code.matchAll(/\b(?:import|export)\s+(type\s+)?([\w$*{}\s,]+?)\s*\bfrom\s*(['"`])([^'"`]+)\3/g);
  const bare = code.matchAll(/\bimport\s*(\(?)\s*(['"`])([^'"`]+)\2/g);
  return [
    ...Array.from(named).flatMap(([, type, clause = '', , path = '']) => {
      const names = clause.replace(/[{}]/g, '').split(',');
      const values = names.map((name) => name.trim()).filter((name) => name !== '' && !/^type\s/.test(name));
      return type ? [] : values.map((name) => [path, name.replace(/\s+as\s.*$/s, '')] as const);
    }),
    ...Array.from(bare, ([, , , path = '']) => [path, '*'] as const),
  ];
}

/** What a file of the model does that could write to a server, to a disk or to anything else. */
function writingIn(file: string, text: string): readonly string[] {
  const imported = valuesImported(text).flatMap(([path, name]) => {
    const from = path.startsWith('.') ? relative(src, join(src, dirname(file), path)) : path;
    if (path.startsWith('.') && folderOf(from) !== 'kube') return [];
    return MODEL_VALUES[from]?.includes(name) ? [] : [`${name} from ${from}`];
  });
  return [...imported, ...(withoutComments(text).match(WRITES) ?? [])];
}

describe('the model writes nothing', () => {
  it.each(files.filter((file) => folderOf(file) === 'model'))('%s', (file) => {
    expect(writingIn(file, sources.get(file) ?? '')).toEqual([]);
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

  it.each([
    [
      'a class that writes',
      "import { EventSink } from '../kube/events/event-sink.ts';",
      ['EventSink from kube/events/event-sink.ts'],
    ],
    [
      'one beside a type',
      "import { type Scope, KubeClient } from '../kube/client.ts';",
      ['KubeClient from kube/client.ts'],
    ],
    [
      'one under another name',
      "import { KubeClient as Reader } from '../kube/client.ts';",
      ['KubeClient from kube/client.ts'],
    ],
    ['a whole module', "import * as kube from '../kube/client.ts';", ['* from kube/client.ts']],
    ['a lazy module', "const kube = await import('../kube/client.ts');", ['* from kube/client.ts']],
    ['a module for its effect', "import '../kube/client.ts';", ['* from kube/client.ts']],
    ['an export', "export { KubeClient } from '../kube/client.ts';", ['KubeClient from kube/client.ts']],
    ['the disk', "import { writeFileSync } from 'node:fs';", ['writeFileSync from node:fs']],
    ['a write', 'await this.#deps.client.patch(CONFIG_MAPS, ref, body);', ['client.patch']],
    ['a write with types', 'await client.create<DataObject>(CONFIG_MAPS);', ['client.create']],
  ])('in the model %s', (_, text, found) => {
    expect(writingIn('model/verdicts.ts', text)).toEqual(found);
  });

  it.each([
    ['a type', "import type { KubeClient } from '../kube/client.ts';"],
    ['types', "import { type KubeClient, type Scope } from '../kube/client.ts';"],
    ['an error to compare with', "import { KubeError } from '../kube/kube-error.ts';"],
    ['its own parts', "import { Verdicts } from './verdicts.ts';\nimport { judge } from '../domain/judge/judge.ts';"],
    ['a read', 'await client.get(CONFIG_MAPS, ref); seen.delete(ref);'],
  ])('no harm in %s', (_, text) => {
    expect(writingIn('model/verdicts.ts', text)).toEqual([]);
  });

  it('no import in a comment', () => {
    expect(offences('domain/judge.ts', `// from '${path}'\n/* import '${path}' */`)).toEqual([]);
  });
});
