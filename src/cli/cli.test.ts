import { describe, expect, it, test } from 'vitest';
import { runCli } from './cli.ts';
import { ALL_OWN_FLAGS } from './own-flags.ts';
import { VERSION } from './version.ts';

interface Where {
  readonly env?: Readonly<Record<string, string>>;
  readonly isTTY?: boolean;
  readonly input?: { readonly isTTY: boolean };
}

async function run(argv: readonly string[], { env = {}, isTTY = false, input = { isTTY: false } }: Where = {}) {
  const out = { stdout: '', stderr: '' };
  const code = await runCli(argv, {
    env,
    stdout: (text) => {
      out.stdout += text;
    },
    stderr: (text) => {
      out.stderr += text;
    },
    signal: new AbortController().signal,
    terminal: { isTTY },
    input,
  });
  return { code, ...out };
}

test.each(['constructor', 'toString', '__proto__', 'contrller'])('%s is no command', async (word) => {
  const { code, stderr } = await run([word]);
  expect(code).toBe(2);
  expect(stderr).toContain(`there is no command "${word}"`);
});

describe('the first word that is neither a flag nor a value of one is the command', () => {
  // Each ends with a complaint of the command about what it was given, so that nothing is asked of any cluster.
  it.each([
    ['a bare flag of the controller', ['--auto-reload-all', 'explain', 'nonsense']],
    ['a flag with a value', ['--reload-strategy', 'annotations', 'explain', 'nonsense']],
    ['a flag with = and a value', ['--reload-strategy=annotations', 'explain', 'nonsense']],
    ["kubectl's flags", ['-n', 'shop', '--context', 'prod', '--kubeconfig=/none', 'explain', 'nonsense']],
    ['its own flags', ['-o', 'json', '--source', 'secret/a', 'explain', 'nonsense']],
    ['a value that is the name of a command', ['-n', 'doctor', 'explain', 'nonsense']],
    ['a boolean that is written like a value', ['--auto-reload-all', 'true', 'explain', 'nonsense']],
  ])('after %s', async (_, argv) => {
    const { code, stderr } = await run(argv);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^attune explain: /)]);
    expect(stderr).not.toContain('shorthand');
  });

  it('a slip there is told, and nothing is started', async () => {
    const { code, stderr } = await run(['--auto-reload-all', 'explian', 'deployment/web']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('no command "explian", did you mean explain?')]);
  });

  it('at a terminal any other word is too, and nothing is started', async () => {
    const { code, stderr } = await run(['--auto-reload-all', 'word'], { isTTY: true });
    expect([code, stderr]).toEqual([2, expect.stringContaining('no command "word"')]);
  });

  it('no flag has a value for one command and none for another', () => {
    const names = new Set(ALL_OWN_FLAGS.map(({ name }) => name));
    for (const name of names) {
      const kinds = new Set(ALL_OWN_FLAGS.filter((flag) => flag.name === name).map(({ bare }) => bare));
      expect([name, kinds.size]).toEqual([name, 1]);
    }
  });
});

describe('without a command', () => {
  const pod = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: 'x' };
  const isController = expect.stringMatching(/Attune cannot go on|must be/);

  it.each([
    ['at a terminal', { isTTY: true }],
    ['with a pager', { input: { isTTY: true } }],
  ])('a person %s gets an overview, and nothing is started', async (_, where) => {
    const { code, stdout, stderr } = await run([], where);
    expect([code, stdout, stderr]).toEqual([0, expect.stringContaining('usage: attune COMMAND'), '']);
  });

  it.each([
    ['flags at a terminal', ['--kubeconfig=/none'], { isTTY: true }],
    ['flags in a pod', ['--auto-reload-all'], { env: pod }],
    ['a pod', [], { env: pod }],
    ['a pod with a terminal', [], { env: pod, isTTY: true, input: { isTTY: true } }],
    ['neither', [], {}],
    ['a boolean that is written like a value', ['--auto-reload-all', 'true'], { env: pod }],
    ['a stray word in a pod, which upstream passes over', ['--auto-reload-all', 'word'], { env: pod }],
    ['a stray word in a script', ['--kubeconfig=/none', 'word'], {}],
  ])('%s: the controller', async (_, argv, where) => {
    expect(await run(argv, where)).toMatchObject({ code: 1, stderr: isController });
  });

  it.each([[['--version']], [['version']]])('%j says which version it is', async (argv) => {
    expect(await run(argv)).toMatchObject({ code: 0, stdout: expect.stringMatching(`^attune ${VERSION} `) });
  });

  it('--version with something else is read like version', async () => {
    expect(JSON.parse((await run(['--version', '-o', 'json'])).stdout)).toMatchObject({ version: VERSION });
    expect(await run(['--version', '--nonsense'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--nonsense'),
    });
  });

  it('version for programs', async () => {
    expect(JSON.parse((await run(['version', '-o', 'json'])).stdout)).toMatchObject({ version: VERSION });
    expect(await run(['version', '-o', 'yaml', 'x'])).toMatchObject({
      code: 2,
      stderr: 'attune version: "x" is one word too many\nattune version: -o knows json, not yaml\n',
    });
  });
});

describe('help', () => {
  it.each(['controller', 'explain', 'impact', 'doctor', 'resume', 'sandbox', 'tour', 'version'])(
    'help %s is what --help says',
    async (name) => {
      const asked = await run(['help', name]);
      expect(asked).toEqual(await run([name, '--help']));
      expect([asked.code, asked.stdout]).toEqual([0, expect.stringContaining(`attune ${name}`)]);
    },
  );

  it('of nothing that there is', async () => {
    expect(await run(['help', 'explian'])).toMatchObject({ code: 2, stderr: expect.stringContaining('explain?') });
  });

  it.each([[['help']], [['help', 'help']]])('%j is the overview', async (argv) => {
    expect((await run(argv)).stdout).toContain('attune help COMMAND tells more');
  });
});
