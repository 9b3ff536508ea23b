import { expect, test } from 'vitest';
import { Classes, type ClassStatus } from './provider-classes.ts';

let version = 0;
const status = (value: string, className = 'vault'): ClassStatus => {
  version += 1;
  const fingerprint = { exact: value, mark: value };
  return { namespace: 'shop', className, resourceVersion: String(version), fingerprint };
};

test('a rotation that spreads over twenty pods moves the class once, and their new statuses do not move it', () => {
  const classes = new Classes();
  for (let pod = 0; pod < 20; pod += 1) classes.added(status('old'));
  const moves: unknown[] = [];
  for (let pod = 0; pod < 20; pod += 1) {
    moves.push(classes.changed(status('old'), status('new')));
    moves.push(classes.added(status('new')));
    // A pod that started meanwhile may still have been given the old value.
    moves.push(classes.added(status('old')));
  }
  expect(moves.filter((move) => move !== undefined)).toHaveLength(1);
});

test('two rotations at once: who follows late to the first does not undo the second', () => {
  const classes = new Classes();
  classes.added(status('one'));
  expect(classes.changed(status('one'), status('two'))).toBeDefined();
  expect(classes.changed(status('two'), status('three'))).toBeDefined();
  expect(classes.changed(status('one'), status('two'))).toBeUndefined();
  expect(classes.changed(status('one'), status('three'))).toBeUndefined();
});

test('going back to an earlier value is a change like any other', () => {
  const classes = new Classes();
  classes.added(status('one'));
  classes.changed(status('one'), status('two'));
  expect(classes.changed(status('two'), status('one'))).toMatchObject({ exact: 'one' });
});

test('at a listing the status written last tells what is current', () => {
  const classes = new Classes();
  classes.listed(status('old'));
  expect(classes.listed(status('new'))).toMatchObject({ exact: 'new' });
  expect(classes.changed(status('old'), status('new'))).toBeUndefined();
});

test('classes do not move each other', () => {
  const classes = new Classes();
  classes.added(status('one', 'vault'));
  classes.added(status('one', 'azure'));
  expect(classes.changed(status('one', 'vault'), status('two', 'vault'))).toBeDefined();
  expect(classes.changed(status('one', 'azure'), status('two', 'azure'))).toBeDefined();
});
