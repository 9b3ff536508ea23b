import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CommandLine, readCommandLine } from './command-line.ts';

const FLAGS = new Map([
  ['auto-reload-all', { bare: true }],
  ['reload-on-create', { bare: false }],
  ['namespaces', { bare: false }],
]);

const read = (...argv: string[]) => {
  const { given, wordsAt: _, ...rest } = readCommandLine(argv, FLAGS);
  return { ...rest, given: Object.fromEntries(given) };
};

const nothing: Omit<CommandLine, 'given' | 'wordsAt'> = { positional: [], help: false, problems: [] };

// Each row was compared with what pflag 1.0.10 does.
test.each<[readonly string[], Partial<ReturnType<typeof read>>]>([
  [[], {}],
  [['--auto-reload-all'], { given: { 'auto-reload-all': ['true'] } }],
  [['--auto-reload-all=false'], { given: { 'auto-reload-all': ['false'] } }],
  [['--auto-reload-all', 'false'], { given: { 'auto-reload-all': ['true'] }, positional: ['false'] }],
  [['--namespaces', 'a', '--namespaces=b'], { given: { namespaces: ['a', 'b'] } }],
  [['--namespaces=a=b'], { given: { namespaces: ['a=b'] } }],
  [['--namespaces='], { given: { namespaces: [''] } }],
  [['--namespaces', '--auto-reload-all'], { given: { namespaces: ['--auto-reload-all'] } }],
  [['--namespaces', '--'], { given: { namespaces: ['--'] } }],
  [['x', '--auto-reload-all', '-'], { given: { 'auto-reload-all': ['true'] }, positional: ['x', '-'] }],
  [['--', '--auto-reload-all', 'x'], { positional: ['--auto-reload-all', 'x'] }],
  [['--reload-on-create'], { problems: ['flag needs an argument: --reload-on-create'] }],
  [['---x'], { problems: ['bad flag syntax: ---x'] }],
  [['--=x'], { problems: ['bad flag syntax: --='] }],
  [['-h'], { help: true }],
  [['-hh'], { help: true }],
  [['-h=false'], {}],
  [['-h='], { problems: ["unknown shorthand flag: '=' in -h="] }],
  [['-hx'], { problems: ["unknown shorthand flag: 'x' in -hx"] }],
  [['--help', '--help=0'], {}],
  [['--help=x'], { problems: ['--help must be true or false'] }],
])('%j', (argv, expected) => {
  expect(read(...argv)).toEqual({ given: {}, ...nothing, ...expected });
});

test('all problems are told, each with the flag that was probably meant', () => {
  expect(read('--auto-reload-al', '-namespaces=a', '--zzz=1', '--namespaces').problems).toEqual([
    'unknown flag: --auto-reload-al, did you mean --auto-reload-all?',
    "unknown shorthand flag: 'n' in -namespaces=, did you mean --namespaces?",
    'unknown flag: --zzz',
    'flag needs an argument: --namespaces',
  ]);
});

test('no problem repeats a value', () => {
  const value = 'https://user:token@example.com/?a=b';
  for (const dashes of ['-', '--', '---']) {
    const { problems } = read(`${dashes}webhook-url=${value}`);
    expect(problems).toHaveLength(1);
    expect(problems.join()).toContain(`${dashes}webhook-url`);
    expect(problems.join()).not.toMatch(/token|example/);
  }
});

test('no word is lost and nothing throws', () => {
  const word = fc.oneof(
    fc.string(),
    fc.constantFrom('--', '-', '-h', '--namespaces', '--auto-reload-all', '--namespaces=a,b', '--reload-on-create'),
  );
  fc.assert(
    fc.property(fc.array(word), (argv) => {
      const { given, positional, problems } = readCommandLine(argv, FLAGS);
      const values = [...given.values()].flat();
      expect(values.length + positional.length + problems.length).toBeLessThanOrEqual(argv.length + 1);
      const words = argv.filter((each) => !each.startsWith('-'));
      expect([...values, ...positional]).toEqual(expect.arrayContaining(words));
    }),
  );
});

test('where the words without a flag stand, up to the end of the flags', () => {
  const argv = ['--namespaces', 'a', 'one', '--auto-reload-all', 'two', '--', 'three'];
  expect(readCommandLine(argv, FLAGS).wordsAt).toEqual([2, 4]);
});
