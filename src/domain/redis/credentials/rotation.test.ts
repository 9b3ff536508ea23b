import { expect, test } from 'vitest';
import { accept, enter, proven, type Rotation } from './rotation.ts';

const settled: Rotation = { accepted: ['p1'], phase: 'Settled', sinceMs: 1 };

test('the first password has nothing to rotate', () => {
  expect(proven(accept(undefined, 'p1'), 5)).toEqual({ accepted: ['p1'], phase: 'Settled', sinceMs: 5 });
});

test('a password that Redis had before anybody rotated goes the way of an earlier one', () => {
  expect(accept(undefined, 'p1', ['x', 'p1'])).toEqual({ accepted: ['x', 'p1'] });
  expect(accept(settled, 'p2', ['x'])).toEqual({ accepted: ['p1', 'p2'] });
});

test('the same password changes nothing', () => {
  expect(accept(settled, 'p1')).toBe(settled);
});

test('all earlier ones stay until the newest is settled', () => {
  const second = proven(accept(settled, 'p2'), 5);
  expect(second).toEqual({ accepted: ['p1', 'p2'], phase: 'Accepted', sinceMs: 5 });
  const third = enter(proven(accept(enter(second, 'Used', 6), 'p3'), 7), 'Used', 8);
  expect(third).toEqual({ accepted: ['p1', 'p2', 'p3'], phase: 'Used', sinceMs: 8 });
  expect(enter(third, 'Settled', 9)).toEqual({ accepted: ['p3'], phase: 'Settled', sinceMs: 9 });
});

test('back to an earlier one: it is the newest then', () => {
  expect(accept({ ...settled, accepted: ['p1', 'p2'], phase: 'Used' }, 'p1')).toEqual({ accepted: ['p2', 'p1'] });
});
