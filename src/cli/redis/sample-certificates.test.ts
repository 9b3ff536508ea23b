import { X509Certificate } from 'node:crypto';
import { expect, test } from 'vitest';
import { startRedis } from '../../../test/support/redis-process.ts';
import { leafIn, leafShownBy } from '../tour/redis/shown-leaf.ts';
import { sampleAuthority, sampleLeaf } from './sample-certificates.ts';

const NOW = Date.now();

test('a leaf is of its authority, for its names, as server and as client', async () => {
  const authority = await sampleAuthority(NOW);
  const leaf = new X509Certificate((await sampleLeaf(authority, ['redis', '*.redis.shop.svc'], NOW)).cert);
  const root = new X509Certificate(authority.cert);
  expect(root.ca).toBe(true);
  expect(leaf.verify(root.publicKey)).toBe(true);
  expect(leaf.checkIssued(root)).toBe(true);
  expect(leaf.checkHost('redis-0.redis.shop.svc')).toBe('*.redis.shop.svc');
  expect(leaf.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
});

test('Redis serves it, and whoever connects is shown it', async () => {
  const authority = await sampleAuthority(NOW);
  const { cert, key } = await sampleLeaf(authority, ['redis'], NOW);
  const host = '127.93.4.7';
  await using _ = await startRedis({ host, tls: { cert, key, ca: authority.cert } });
  const ca = Buffer.from(authority.cert);
  expect(await leafShownBy({ host, port: 6379, ca })).toBe(leafIn(cert));
  const other = await sampleAuthority(NOW);
  await expect(leafShownBy({ host, port: 6379, ca: Buffer.from(other.cert) })).rejects.toThrow();
  await expect(leafShownBy({ host, port: 1, ca })).rejects.toThrow('ECONNREFUSED');
});
