import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeBase64 } from './base64-bytes.ts';

function decoded(text: string): Buffer {
  const to = Buffer.alloc(text.length);
  const length = decodeBase64(Buffer.from(text), to);
  // Nothing behind its place is touched.
  expect(to.subarray(length).every((byte) => byte === 0)).toBe(true);
  return to.subarray(0, length);
}

test('what Buffer reads of base64, this reads', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      for (const encoding of ['base64', 'base64url'] as const) {
        expect(decoded(Buffer.from(bytes).toString(encoding))).toEqual(Buffer.from(bytes));
      }
    }),
  );
});

test.each([
  ['white space', ' cGFz c3dv\ncmQ= '],
  ['what does not belong there', 'cGFz*c3dv!cmQ='],
  ['an escaped slash', 'Pz8\\/Pz8\\/'],
  ['letters by their number', 'c\\u0047Fzc3dvcmQ\\u003d'],
  ['an escape of one letter', 'cGFz\\nc3dvcmQ='],
])('with %s as well', (_what, text) => {
  expect(decoded(text)).toEqual(Buffer.from(JSON.parse(`"${text.replaceAll('\n', ' ')}"`), 'base64'));
});
