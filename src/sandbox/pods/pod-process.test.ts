import { randomUUID } from 'node:crypto';
import { isIPv4 } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { imageName } from './pod.ts';
import { loopbackAddress } from './pod-process.ts';

test('every pod has an address of its own on loopback, apart from 127.0', () => {
  fc.assert(
    fc.property(fc.uuid(), (uid) => {
      const address = loopbackAddress(uid);
      expect(isIPv4(address)).toBe(true);
      expect(address).toMatch(/^127\.(?!0\.)/);
      expect(loopbackAddress(uid)).toBe(address);
    }),
  );
  const many = Array.from({ length: 1000 }, () => loopbackAddress(randomUUID()));
  expect(new Set(many).size).toBeGreaterThan(990);
});

test.each([
  ['attune', 'attune'],
  ['attune:1', 'attune'],
  ['ghcr.io/some/attune:1.0', 'attune'],
  ['host:5000/attune', 'attune'],
  ['ghcr.io/some/attune@sha256:abc', 'attune'],
  ['ghcr.io/some/attune:1.0@sha256:abc', 'attune'],
  ['ghcr.io/attune/other:1', 'other'],
])('the name of the image %s is %s', (image, name) => {
  expect(imageName(image)).toBe(name);
});
