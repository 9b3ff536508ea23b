import { expect, test } from 'vitest';
import { binariesFolder, sandboxFolder } from './folders.ts';

test('folders follow the XDG variables, and the home folder without them', () => {
  expect(binariesFolder({ HOME: '/home/a' })).toBe('/home/a/.cache/attune/bin');
  expect(binariesFolder({ HOME: '/home/a', XDG_CACHE_HOME: '/cache' })).toBe('/cache/attune/bin');
  expect(sandboxFolder({ HOME: '/home/a' }, 'one')).toBe('/home/a/.local/state/attune/sandbox/one');
  expect(sandboxFolder({ XDG_STATE_HOME: '/state' }, 'one')).toBe('/state/attune/sandbox/one');
});

test.each(['', '..', 'a/b', 'A', '-a', 'a b', 'x'.repeat(41)])('%j is no name for a sandbox', (name) => {
  expect(() => sandboxFolder({ HOME: '/home/a' }, name)).toThrow('name');
});
