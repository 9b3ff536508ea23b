import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SparseMap } from './sparse-map.ts';

const keys = fc.constantFrom('a', 'b', 'c');
const steps = fc.oneof(
  fc.tuple(fc.constant('set' as const), keys, fc.nat(9)),
  fc.tuple(fc.constant('delete' as const), keys, fc.constant(0)),
  fc.tuple(fc.constant('clear' as const), keys, fc.constant(0)),
);

test('behaves as a Map does, order included', () => {
  fc.assert(
    fc.property(fc.array(steps), (moves) => {
      const [sparse, map] = [new SparseMap<string, number>(), new Map<string, number>()];
      for (const [move, key, value] of moves) {
        if (move === 'set') {
          sparse.set(key, value);
          map.set(key, value);
        } else if (move === 'delete') {
          sparse.delete(key);
          map.delete(key);
        } else {
          sparse.clear();
          map.clear();
        }
        expect([...sparse.entries]).toEqual([...map]);
        expect([...sparse.entries.keys()]).toEqual([...map.keys()]);
        expect([sparse.size, sparse.has(key), sparse.get(key)]).toEqual([map.size, map.has(key), map.get(key)]);
      }
    }),
  );
});

test('may be written to while it is gone through', () => {
  const sparse = new SparseMap<string, number>();
  for (const key of ['a', 'b', 'c']) sparse.set(key, 1);
  const seen: string[] = [];
  for (const [key] of sparse.entries) {
    seen.push(key);
    sparse.delete(key);
  }
  expect([seen, sparse.size]).toEqual([['a', 'b', 'c'], 0]);
});
