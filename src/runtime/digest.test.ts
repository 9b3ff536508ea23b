import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Piece } from '../api/piece.ts';
import { createDigest } from './digest.ts';

const digest = createDigest(new Uint8Array(32).fill(1));
const piece: fc.Arbitrary<Piece> = fc.record({
  part: fc.constantFrom('data', 'object', 'class'),
  key: fc.string({ maxLength: 4 }),
  value: fc.string({ maxLength: 8, unit: fc.constantFrom('a', '1', ':', '=', ';', 'd', 't') }),
});
const pieces = fc.array(piece, { maxLength: 4 });

test('exact is equal exactly if the pieces are', () => {
  fc.assert(
    fc.property(pieces, pieces, (a, b) => {
      const equal = JSON.stringify(a) === JSON.stringify(b);
      expect(digest.fingerprint(a).exact === digest.fingerprint(b).exact).toBe(equal);
      expect(digest.fingerprint(structuredClone(a))).toEqual(digest.fingerprint(a));
    }),
    { numRuns: 1000 },
  );
});

test('a value that looks like the next piece is still a value', () => {
  const two: readonly Piece[] = [
    { part: 'data', key: 'a', value: '1' },
    { part: 'data', key: 'b', value: '2' },
  ];
  for (const value of ['1data:1:1:b2', '1data:1:b2', '1data:1::b2', '1datab2', '1b2', '1;b=2']) {
    const one: readonly Piece[] = [{ part: 'data', key: 'a', value }];
    expect(digest.fingerprint(one).exact).not.toBe(digest.fingerprint(two).exact);
  }
});

test('exact tells nothing to whoever lacks the key, and the mark is the same for all', () => {
  const other = createDigest(new Uint8Array(32).fill(2));
  const data: readonly Piece[] = [{ part: 'secret', key: 'pin', value: 'MTIzNA==' }];
  expect(other.fingerprint(data).exact).not.toBe(digest.fingerprint(data).exact);
  expect(other.fingerprint(data).mark).toBe(digest.fingerprint(data).mark);
  expect(other.text('x')).not.toBe(digest.text('x'));
});

test('bytes and the base64 of them are the same', () => {
  const pin = (value: Piece['value']): readonly Piece[] => [{ part: 'secret', key: 'pin', value }];
  expect(digest.fingerprint(pin(Buffer.from('1234')))).toEqual(digest.fingerprint(pin('MTIzNA==')));
});

test('any text in the place of base64 is taken', () => {
  fc.assert(
    fc.property(fc.constantFrom('secret' as const, 'binaryData' as const), fc.string(), (part, value) => {
      const { exact, mark } = digest.fingerprint([{ part, key: 'k', value }]);
      expect(exact).toMatch(/^[\w-]{22}$/);
      expect(mark).toMatch(/^[0-9a-f]{40}$/);
    }),
  );
});

test('a digest of a text fits into a name', () => {
  fc.assert(fc.property(fc.string(), (value) => /^[0-9a-f]{20}$/.test(digest.text(value))));
});
