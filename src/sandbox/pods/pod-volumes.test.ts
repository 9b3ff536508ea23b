import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, test } from 'vitest';
import { until } from '../../../test/support/wait.ts';
import type { Pod, PodContainer } from './pod.ts';
import { PodVolumes, relocated } from './pod-volumes.ts';

let dir: string;
let stop: AbortController;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'pv-'));
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  rmSync(dir, { recursive: true });
});

const container: PodContainer = {
  name: 'redis',
  image: 'attune-redis',
  volumeMounts: [
    { name: 'data', mountPath: '/data/' },
    { name: 'projected', mountPath: '/projected' },
    { name: 'token', mountPath: '/var/run/secrets' },
  ],
};
const podNamed = (uid: string): Pod => ({
  metadata: { name: 'redis-0', namespace: 'shop', uid, resourceVersion: '1' },
  spec: {
    containers: [container],
    volumes: [
      { name: 'data', persistentVolumeClaim: { claimName: 'data-redis-0' } },
      { name: 'projected', projected: { sources: [{ secret: { name: 'auth' } }] } },
      // Of kinds that the runner does not know.
      { name: 'token', projected: { sources: [{ serviceAccountToken: {} } as object, { configMap: { name: 'ca' } }] } },
      { name: 'csi', csi: {} } as Pod['spec']['volumes'] extends readonly (infer V)[] | undefined ? V : never,
    ],
  },
});
let secret: Record<string, Buffer> | undefined;
const volumes = (pod: Pod) =>
  new PodVolumes(
    dir,
    pod,
    async () => secret,
    () => ['/data', '/tls'],
  );

it('a Secret that is missing is waited for; then what changes in it changes in its file', async () => {
  secret = undefined;
  const pod = volumes(podNamed('u1'));
  const waits: string[] = [];
  const prepared = pod.prepare(stop.signal, (why) => void waits.push(why));
  await until(() => waits.length > 0, { what: 'a word about what is missing' });
  expect(waits[0]).toBe('secret "auth" not found');
  secret = { password: Buffer.from('one') };
  await prepared;
  const file = join(pod.folders(container).get('/projected') ?? '', 'password');
  expect(readFileSync(file, 'utf8')).toBe('one');
  const following = pod.follow(stop.signal);
  secret = { password: Buffer.from('two') };
  await until(() => readFileSync(file, 'utf8') === 'two', { what: 'the new password' });
  // What is deleted stays as it was.
  secret = undefined;
  stop.abort();
  await following;
  expect(readFileSync(file, 'utf8')).toBe('two');
});

it('a claim stays when its pod goes, and the next pod has it; the rest goes', async () => {
  secret = { password: Buffer.from('one') };
  const first = volumes(podNamed('u1'));
  await first.prepare(stop.signal, () => {});
  const folders = first.folders(container);
  expect([...folders.keys()].sort()).toEqual(['/data', '/projected', '/tls']);
  writeFileSync(join(folders.get('/data') ?? '', 'dump.rdb'), 'data');
  first.remove();
  const second = volumes(podNamed('u2')).folders(container);
  expect(readFileSync(join(second.get('/data') ?? '', 'dump.rdb'), 'utf8')).toBe('data');
  for (const path of ['/projected', '/tls']) {
    expect(existsSync(folders.get(path) ?? '')).toBe(false);
    expect(second.get(path)).not.toBe(folders.get(path));
  }
});

test.each([
  ['/data', '/v/1'],
  ['--data-dir=/data/x', '--data-dir=/v/1/x'],
  ['/data/sub/y', '/v/2/y'],
  ['/database', '/database'],
  ['/x/data', '/x/data'],
  ['plain', 'plain'],
])('%s is %s', (text, expected) => {
  expect(
    relocated(
      text,
      new Map([
        ['/data', '/v/1'],
        ['/data/sub', '/v/2'],
      ]),
    ),
  ).toBe(expected);
});
