import { afterEach, beforeEach } from 'vitest';
import { lookAt } from '../../src/agent/redis/steps/tls/handshake.ts';
import { makeRedisAuthority, makeRedisLeaf, tlsFiles } from './redis-certificates.ts';
import { type TlsPod, tlsPod } from './redis-tls-pod.ts';

export const DAY_MS = 86_400_000;
export const root = await makeRedisAuthority();
export const other = await makeRedisAuthority();
export const first = await makeRedisLeaf(root);
export const second = await makeRedisLeaf(root);
/** The pod of the test that runs, with the first leaf mounted; its Redis is for the test to start. */
export let pod: TlsPod;

beforeEach(async () => {
  pod = await tlsPod();
  await pod.mount(tlsFiles(first, root));
});
afterEach(() => pod[Symbol.asyncDispose]());

/** Its Redis runs with the first leaf, and the first pass is over. */
export async function begin(): Promise<void> {
  await pod.start();
  await pod.apply();
  pod.sent.length = 0;
}

export const served = async (): Promise<string> => (await lookAt({ host: pod.host, port: 6379 })).leaf;
export const writes = (): readonly string[] => pod.sent.filter((line) => !/^(CONFIG GET|INFO)\b/.test(line));
export const running = async (): Promise<string> =>
  String((await pod.redis.send('CONFIG', 'GET', 'tls-cert-file')) ?? '');
