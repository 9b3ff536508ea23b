import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listIn, objectAt, objectIn } from '../../api/json.ts';
import { EXAMPLE, exampleObjects } from './example.ts';
import { REDIS_IMAGE, redisPrograms, requireRedisServer } from './redis-image.ts';

const VALUES = {
  namespace: 'space',
  password: 'p',
  acl: 'user shop on >q',
  rotationKey: 'k',
  authOverlap: '7s',
  leaf: { cert: 'leaf', key: 'key' },
  authority: 'root',
};
const objects = exampleObjects(VALUES);
const named = (kind: string, name: string) =>
  objects.find(({ resource, body }) => resource.kind === kind && body.metadata.name === name);

test('every object of the example is in the namespace, with values of its own, Secrets first', () => {
  expect(objects.map(({ body }) => body.metadata.namespace)).toEqual(objects.map(() => 'space'));
  expect(JSON.stringify(objects)).not.toContain('replace-me');
  const kinds = objects.map(({ resource }) => resource.kind);
  expect(kinds.lastIndexOf('Secret')).toBeLessThan(kinds.indexOf('StatefulSet'));
  for (const name of [EXAMPLE.authSecret, EXAMPLE.aclSecret, EXAMPLE.tlsSecret, EXAMPLE.caSecret]) {
    expect(named('Secret', name), name).toBeDefined();
  }
  expect(named('StatefulSet', 'redis')?.resource).toMatchObject({
    group: 'apps',
    version: 'v1',
    plural: 'statefulsets',
  });
  expect(named('ServiceAccount', 'redis')?.resource).toMatchObject({ group: '', version: 'v1' });
});

test('it has TLS, and every Secret that it mounts is there', () => {
  expect(objectAt(named('RedisCluster', EXAMPLE.cluster)?.body, ['spec'])).toMatchObject({
    tlsSecret: { name: EXAMPLE.tlsSecret },
    caSecret: { name: EXAMPLE.caSecret },
    rotationKeySecret: { name: EXAMPLE.rotationKeySecret },
    authOverlap: '7s',
  });
  const pod = objectAt(named('StatefulSet', 'redis')?.body, ['spec', 'template', 'spec']);
  const projected = listIn(pod['volumes']).map((volume) => objectAt(volume, ['projected']));
  const sources = projected.flatMap(({ sources: each }) => listIn(each).map((source) => objectAt(source, ['secret'])));
  expect(sources.length).toBeGreaterThan(3);
  for (const { name } of sources) expect(named('Secret', String(name)), String(name)).toBeDefined();
  // 0440 of kubectl's YAML, which is no decimal number.
  expect(projected.flatMap(({ defaultMode }) => defaultMode ?? [])).toEqual([0o440, 0o440]);
  const [container] = listIn(pod['containers']).map(objectIn);
  expect(String(container?.['image'])).toMatch(new RegExp(`^${REDIS_IMAGE}:`));
});

test('the image is run as the agent of this program', () => {
  expect(redisPrograms(['node', 'main.ts'])[REDIS_IMAGE]?.argv).toEqual(['node', 'main.ts', 'agent', 'redis']);
});

test('without redis-server, or elsewhere than on Linux, it is said what to do', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ri-'));
  expect(() => requireRedisServer({ PATH: folder }, 'linux')).toThrow('apt-get install redis-server');
  expect(() => requireRedisServer({}, 'linux')).toThrow('not in the PATH');
  writeFileSync(join(folder, 'redis-server'), '', { mode: 0o755 });
  expect(() => requireRedisServer({ PATH: `/nowhere:${folder}` }, 'linux')).not.toThrow();
  expect(() => requireRedisServer({ PATH: folder }, 'darwin')).toThrow('needs Linux');
  rmSync(folder, { recursive: true });
});
