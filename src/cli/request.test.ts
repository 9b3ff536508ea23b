import { describe, expect, it } from 'vitest';
import { readRequest } from './request.ts';

const FLAGS = [
  { name: 'namespace', short: 'n' },
  { name: 'sandbox', bare: true as const },
];
const read = (...argv: string[]) => readRequest(argv, FLAGS);

describe('own flags', () => {
  it.each([[['-n', 'shop']], [['-nshop']], [['-n=shop']], [['--namespace', 'shop']], [['--namespace=shop']]])(
    '%j',
    (argv) => {
      expect(read(...argv, 'deploy/web')).toMatchObject({ operands: ['deploy/web'], problems: [] });
      expect(read(...argv).own.get('namespace')).toBe('shop');
    },
  );

  it('bare, with and without a value', () => {
    expect(read('--sandbox', 'deploy/web').own.get('sandbox')).toBe('true');
    expect(read('--sandbox=other').own.get('sandbox')).toBe('other');
  });
});

it("the controller's flags are handed on, all values of each", () => {
  const { controller, operands } = read('--auto-reload-all', 'deploy/web', '--namespaces=a', '--namespaces', 'b');
  expect(controller).toEqual(['--auto-reload-all=true', '--namespaces=a', '--namespaces=b']);
  expect(operands).toEqual(['deploy/web']);
});

it('a flag that only a pod can have means nothing here', () => {
  expect(read('--enable-ha').controller).toEqual([]);
});

it('all problems at once, each with the nearest flag', () => {
  expect(read('--namespac=a', '--auto-reload-al').problems).toEqual([
    expect.stringContaining('did you mean --namespace?'),
    expect.stringContaining('did you mean --auto-reload-all?'),
  ]);
});

it('what follows -- is no flag', () => {
  expect(read('--', '-n').operands).toEqual(['-n']);
});
