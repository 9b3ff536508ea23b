import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { runCli } from '../cli.ts';

const folder = mkdtempSync(join(tmpdir(), 'attune-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function run(words: readonly string[], input = '') {
  const out = { stdout: '', stderr: '' };
  const code = await runCli(['config', ...words], {
    env: {},
    stdout: (text) => {
      out.stdout += text;
    },
    stderr: (text) => {
      out.stderr += text;
    },
    signal: new AbortController().signal,
    terminal: {},
    readInput: () => Promise.resolve(input),
  });
  return { code, ...out };
}

const check = (text: string) => run(['check', '-'], text);

async function problemsIn(text: string): Promise<readonly string[]> {
  const found = JSON.parse((await run(['check', '-', '-o', 'json'], text)).stdout) as readonly {
    readonly problems: readonly { readonly path: string; readonly message: string }[];
  }[];
  return found.flatMap(({ problems }) => problems.map(({ path, message }) => `${path}: ${message}`));
}

const HEAD =
  'apiVersion: reloader.stakater.com/v1alpha1\nkind: ReloaderConfig\nmetadata: {name: reload, namespace: shop}\n';
const TARGETS = 'targets: [{kind: Deployment, name: web}]';
const SOUND = `${HEAD}spec: {autoReloadAll: true, ${TARGETS}}\n`;

test('nothing is said about a sound one', async () => {
  expect(await check(SOUND)).toEqual({ code: 0, stdout: '✓ -: ReloaderConfig shop/reload\n', stderr: '' });
});

describe('problems', () => {
  test.each([
    [
      'an unknown field',
      `autoReloadall: true, ${TARGETS}`,
      'spec.autoReloadall: is no field, did you mean autoReloadAll?',
    ],
    [
      'one within a list',
      'autoReloadAll: true, targets: [{kind: Job, name: a, x: 1}]',
      'spec.targets[0].x: is no field',
    ],
    [
      'a number for a text',
      'autoReloadAll: true, targets: [{kind: Job, name: 5}]',
      'spec.targets[0].name: must be a text, not 5: put it in quotes',
    ],
    [
      'a text for a switch',
      `autoReloadAll: "true", ${TARGETS}`,
      'spec.autoReloadAll: must be true or false, not "true"',
    ],
    ['an object for a list', 'autoReloadAll: true, targets: {}', 'spec.targets: must be a list, not an object'],
    ['a text for an object', 'autoReloadAll: true, targets: [web]', 'spec.targets[0]: must be an object, not "web"'],
    [
      'a label that is a number',
      `autoReloadAll: true, matchLabels: {a: 1}, ${TARGETS}`,
      'spec.matchLabels["a"]: must be a text',
    ],
    ['what is missing', 'autoReloadAll: true, targets: [{kind: Job}]', 'spec.targets[0].name: is missing'],
    [
      'what the controller says',
      'autoReloadAll: true, targets: [{kind: Pod, name: a}]',
      'spec.targets[0].kind: must be one of',
    ],
  ])('%s', async (_, spec, expected) => {
    const problems = await problemsIn(`${HEAD}spec: {${spec}}\n`);
    expect(problems.filter((problem) => problem.startsWith(expected))).toHaveLength(1);
    const [path = ''] = expected.split(': ');
    expect(
      problems.filter((problem) => problem.startsWith(path)),
      'each field is told once',
    ).toHaveLength(1);
    expect((await check(`${HEAD}spec: {${spec}}\n`)).code).toBe(1);
  });

  test('of the head', async () => {
    expect(await problemsIn('apiVersion: v1\nkind: ReloaderConfig\nmetadata: {name: A}\n')).toEqual([
      'apiVersion: must be reloader.stakater.com/v1alpha1',
      expect.stringContaining('metadata.name: must be a name'),
      'spec: is missing',
    ]);
    expect(await problemsIn(SOUND.replace('name: reload', 'generateName: reload-'))).toEqual([]);
  });

  test('all of all files, whose other objects are passed over', async () => {
    const file = join(folder, 'two.yaml');
    writeFileSync(file, `${SOUND}---\n---\nkind: Secret\nmetadata: {name: s}\n---\n${HEAD}spec: {${TARGETS}}\n`);
    const { code, stdout } = await run(['check', file, '-'], SOUND);
    expect(code).toBe(1);
    expect(stdout.match(/^[✓✗-] .*/gm)).toEqual([
      `✓ ${file}: ReloaderConfig shop/reload`,
      `- ${file}: Secret s is of another kind: passed over`,
      `✗ ${file}: ReloaderConfig shop/reload`,
      '✓ -: ReloaderConfig shop/reload',
    ]);
    expect(stdout).toContain('names no source');
  });

  test('in the elements of a list', async () => {
    const list = { kind: 'List', items: [{ kind: 'ReloaderConfig' }, { kind: 'Pod', metadata: { name: 'a' } }, 7] };
    expect(await problemsIn(JSON.stringify(list))).toContain('kind: is missing: this is no object of Kubernetes');
    expect(await problemsIn(JSON.stringify(list))).toContain('spec: is missing');
  });
});

test.each([
  ['{ignore: true}', 'annotations', 'metadata.annotations["ignore"]: must be a text, not true: put it in quotes'],
  ['{a: 1}', 'labels', 'metadata.labels["a"]: must be a text, not 1: put it in quotes'],
  ['{a: "b c"}', 'labels', 'metadata.labels: "b c" is no label value'],
  ['{a: b}', 'lables', 'metadata.lables: is no field, did you mean labels?'],
])('metadata that the server refuses: %s in %s', async (value, field, problem) => {
  expect(await problemsIn(SOUND.replace('namespace: shop', `$&, ${field}: ${value}`))).toEqual([problem]);
});

test('YAML as kubectl reads it', async () => {
  expect(await problemsIn(`${HEAD}spec: {autoReloadAll: yes, alerts: no, ${TARGETS}}\n`)).toEqual([]);
  const names = 'watchedResources: {configMaps: [2026-01-01]}';
  expect(await problemsIn(`${HEAD}spec: {${names}, ${TARGETS}}\n`)).toEqual([]);
});

test('what is no YAML is told by its place alone: it may hold secrets', async () => {
  const { code, stdout } = await check('kind: Secret\nstringData: {password: hunter2\n');
  expect([code, stdout]).toEqual([1, expect.stringContaining('is no YAML: look at line 3')]);
  expect(stdout).not.toContain('hunter2');
  expect((await check('a: &a [*b]')).code).toBe(1);
  expect((await check('['.repeat(20_000))).code).toBe(1);
});

test('a file that cannot be read', async () => {
  const { code, stdout } = await run(['check', join(folder, 'none.yaml'), folder, '-'], SOUND);
  expect(code).toBe(2);
  expect(stdout).toContain('cannot be read (ENOENT)');
  expect(stdout).toContain('is a folder: name its files');
  expect(stdout).toContain('✓ -: ReloaderConfig shop/reload');
});

test('what the cluster has to allow is noted', async () => {
  const spec = `namespaceSelector: {}}, targets: [{kind: Deployment, name: web, namespace: b, rolloutStrategy: restart, requireReference: true}]`;
  const text = `${HEAD}spec: {watchedResources: {configMaps: [a], ${spec}}\n`.replace(
    '{name',
    '{annotations: {reloader.stakater.com/ignore: "true"}, name',
  );
  const { code, stdout } = await check(text);
  const said = stdout.replace(/\s+/g, ' ');
  expect(code).toBe(0);
  for (const note of [
    'asks for nothing',
    'namespace b must allow it: annotate it with attune.dev/allow-reloads-from: "shop", or set --allow-reloads b=shop',
    'sources elsewhere count if their namespace allows it: annotate it with',
    'right to evict pods',
    'requireReference has no effect',
  ]) {
    expect(said).toContain(note);
  }
});

test('the command line', async () => {
  expect(await run([])).toMatchObject({ code: 2, stderr: expect.stringContaining('did you mean check?') });
  expect(await run(['check'])).toMatchObject({ code: 2, stderr: expect.stringContaining('name the files') });
  expect(await run(['check', '-', '-o', 'yaml'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('-o knows json'),
  });
  expect(await run(['check', '--auto-reload-all', '-'])).toMatchObject({ code: 2 });
  expect(await run(['--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('attune config check FILE') });
});
