import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../../test/support/test-folder.ts';
import { StateFile } from './state-file.ts';

const folder = testFolder('state');
const open = () => new StateFile<{ readonly n: number }>(join(folder.path, 'deep'), 'part', { n: 0 });
const path = () => join(folder.path, 'deep', 'part.json');

test('is there after a restart, for nobody else, and nothing else is left', async () => {
  await open().save({ n: 1 });
  expect(open().value).toEqual({ n: 1 });
  expect(statSync(path()).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(folder.path, 'deep'))).toEqual(['part.json']);
});

test.each(['', '{"n":', '\0'])('damaged (%j) it counts as empty', async (content) => {
  mkdirSync(join(folder.path, 'deep'));
  writeFileSync(path(), content);
  expect(open().value).toEqual({ n: 0 });
});

test('of two that are saved at once the later one is kept, though the other takes longer', async () => {
  const state = open();
  const large = { n: 1, rest: 'x'.repeat(20_000_000) };
  await Promise.all([state.save(large), state.save({ n: 2 })]);
  expect(open().value).toEqual({ n: 2 });
});

test('an equal value is not written again', async () => {
  const state = open();
  await state.save({ n: 1 });
  rmSync(path());
  await state.save({ n: 1 });
  expect(() => readFileSync(path())).toThrow('ENOENT');
  await state.save({ n: 2 });
  expect(open().value).toEqual({ n: 2 });
});

test('what could not be written counts, and is written by the next try', async () => {
  const state = open();
  writeFileSync(join(folder.path, 'deep'), 'a file in the way');
  await expect(state.save({ n: 1 })).rejects.toThrow(/EEXIST|ENOTDIR/);
  expect(state.value).toEqual({ n: 1 });
  rmSync(join(folder.path, 'deep'));
  await state.save({ n: 1 });
  expect(open().value).toEqual({ n: 1 });
});
