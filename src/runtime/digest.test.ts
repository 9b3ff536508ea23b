import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Piece } from '../api/piece.ts';
import type { SourceRef } from '../api/sources.ts';
import { createDigest, sha256Hex } from './digest.ts';

const digest = createDigest(new Uint8Array(32).fill(1));
const DB: SourceRef = { kind: 'Secret', namespace: 'shop', name: 'db' };
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
      expect(digest.fingerprint(DB, a).exact === digest.fingerprint(DB, b).exact).toBe(equal);
      expect(digest.fingerprint(DB, structuredClone(a))).toEqual(digest.fingerprint(DB, a));
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
    expect(digest.fingerprint(DB, one).exact).not.toBe(digest.fingerprint(DB, two).exact);
  }
});

test('exact tells nothing to whoever lacks the key, and the mark is the same for all', () => {
  const other = createDigest(new Uint8Array(32).fill(2));
  const data: readonly Piece[] = [{ part: 'secret', key: 'pin', value: 'MTIzNA==' }];
  expect(other.fingerprint(DB, data).exact).not.toBe(digest.fingerprint(DB, data).exact);
  expect(other.fingerprint(DB, data).mark).toBe(digest.fingerprint(DB, data).mark);
  expect(other.text('x')).not.toBe(digest.text('x'));
});

const ref: fc.Arbitrary<SourceRef> = fc.record({
  kind: fc.constantFrom('ConfigMap', 'Secret', 'SecretProviderClass'),
  namespace: fc.string({ maxLength: 4, unit: fc.constantFrom('a', '1', ':', 'd', 'ä') }),
  name: fc.string({ maxLength: 4, unit: fc.constantFrom('a', '1', ':', 'd', 'ä') }),
});

test.each(['data', 'mark'] as const)(
  'equal %s of two sources look different, and no name passes for data',
  (compares) => {
    const { fingerprint } = createDigest(new Uint8Array(32).fill(1), compares);
    const same: readonly Piece[] = [{ part: 'secret', key: 'pin', value: 'MTIzNA==' }];
    const others = [
      { kind: 'ConfigMap' as const },
      { namespace: 'other' },
      { name: 'other' },
      { namespace: 'sho', name: 'pdb' },
    ];
    for (const other of others) {
      const there = fingerprint({ ...DB, ...other }, same);
      expect(there.exact).not.toBe(fingerprint(DB, same).exact);
      expect(there.mark).toBe(fingerprint(DB, same).mark);
    }
    fc.assert(
      fc.property(ref, pieces, ref, pieces, (one, a, two, b) => {
        const compared = (of: readonly Piece[]) => (compares === 'data' ? of : fingerprint(DB, of).mark);
        const equal = JSON.stringify([one, compared(a)]) === JSON.stringify([two, compared(b)]);
        expect(fingerprint(one, a).exact === fingerprint(two, b).exact).toBe(equal);
      }),
      { numRuns: 2000 },
    );
  },
);

test('a text that somebody chooses is digested otherwise than data', () => {
  const head = 'Secret:4:2:shopdb';
  const pin: Piece = { part: 'secret', key: 'pin', value: 'MTIzNA==' };
  const exact = Buffer.from(digest.fingerprint(DB, [pin]).exact, 'base64url').toString('hex');
  const text = `${head}secret:3:4:pin1234`;
  // What the HMAC is made of, so that the next line says something.
  expect(createHmac('sha256', new Uint8Array(32).fill(1)).update(text).digest('hex').slice(0, 32)).toBe(exact);
  for (const found of [digest.text(text), digest.configHash(text)]) {
    expect(found).not.toContain(exact.slice(0, 16));
  }
});

test('a config hash looks like SAP’s, is keyed, and is known to who made it', () => {
  const { configHash, madeHash } = digest;
  const lines = 'secret/shop/db/x\n';
  const others = [createDigest(new Uint8Array(32).fill(2)), createDigest(new Uint8Array(32).fill(1), 'mark')];
  expect(configHash(lines)).toMatch(/^[0-9a-f]{64}$/);
  expect(configHash(lines)).not.toBe(configHash(`${lines}${lines}`));
  expect(madeHash(configHash(lines))).toBe(true);
  for (const other of others) {
    expect(other.configHash(lines)).not.toBe(configHash(lines));
    expect(madeHash(other.configHash(lines))).toBe(false);
  }
  for (const foreign of ['', sha256Hex(lines), configHash(lines).slice(1), `${configHash(lines)}0`]) {
    expect(madeHash(foreign)).toBe(false);
  }
});

test('bytes and the base64 of them are the same', () => {
  const pin = (value: Piece['value']): readonly Piece[] => [{ part: 'secret', key: 'pin', value }];
  expect(digest.fingerprint(DB, pin(Buffer.from('1234')))).toEqual(digest.fingerprint(DB, pin('MTIzNA==')));
});

test('any text in the place of base64 is taken', () => {
  fc.assert(
    fc.property(fc.constantFrom('secret' as const, 'binaryData' as const), fc.string(), (part, value) => {
      const { exact, mark } = digest.fingerprint(DB, [{ part, key: 'k', value }]);
      expect(exact).toMatch(/^[\w-]{22}$/);
      expect(mark).toMatch(/^[0-9a-f]{40}$/);
    }),
  );
});

test('a digest of a text fits into a name', () => {
  fc.assert(fc.property(fc.string(), (value) => /^[0-9a-f]{20}$/.test(digest.text(value))));
});
