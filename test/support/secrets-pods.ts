import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import { type PodOptions, SecretsPod } from './secrets-world.ts';

const pods: SecretsPod[] = [];
afterEach(async () => {
  for (const pod of pods.splice(0)) await pod[Symbol.asyncDispose]();
});

/** A pod whose Redis runs; it ends with the test. */
export async function podWith(options: PodOptions = {}): Promise<SecretsPod> {
  const pod = new SecretsPod(options);
  pods.push(pod);
  await pod.start();
  return pod;
}

export const AUTH = { cluster: { authSecret: 'redis-auth' } };
export const withPassword = (password: string | Buffer, more: PodOptions = {}): PodOptions => ({
  ...more,
  cluster: { ...AUTH.cluster, ...more.cluster },
  files: { 'redis-auth/password': password, ...more.files },
});

export const aclFile = (pod: SecretsPod): string => readFileSync(join(pod.dir, 'users.acl'), 'utf8');
export const writes = (pod: SecretsPod): readonly string[] =>
  pod.sent.filter((words) => /SET|DEL|LOAD|SAVE/.test(words));
