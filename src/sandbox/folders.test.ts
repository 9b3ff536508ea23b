import { expect, test } from 'vitest';
import { binariesFolder, explainFullDisk, makeFolder, sandboxFolder } from './folders.ts';

test('folders follow the XDG variables, and the home folder without them', () => {
  expect(binariesFolder({ HOME: '/home/a' })).toBe('/home/a/.cache/attune/bin');
  expect(binariesFolder({ HOME: '/home/a', XDG_CACHE_HOME: '/cache' })).toBe('/cache/attune/bin');
  expect(sandboxFolder({ HOME: '/home/a' }, 'one')).toBe('/home/a/.local/state/attune/sandbox/one');
  expect(sandboxFolder({ XDG_STATE_HOME: '/state' }, 'one')).toBe('/state/attune/sandbox/one');
});

test.each(['', '..', 'a/b', 'A', '-a', 'a b', 'x'.repeat(41)])('%j is no name for a sandbox', (name) => {
  expect(() => sandboxFolder({ HOME: '/home/a' }, name)).toThrow('name');
});

test('a folder that cannot be made says what to do', () => {
  expect(() => makeFolder('/dev/null/state', 'set X')).toThrow('/dev/null/state is not writable; set X');
});

test('the error of a full disk names the folder, and other errors are left as they are', () => {
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  expect(explainFullDisk(full, '/state')).toMatchObject({
    message: 'no space is left on the disk of /state',
    cause: full,
  });
  const other = new Error('no');
  expect(explainFullDisk(other, '/state')).toBe(other);
});
