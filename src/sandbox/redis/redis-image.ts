import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Environment } from '../folders.ts';
import type { ImageProgram } from '../pods/pod-process.ts';

/** The image of Redis with its agent. */
export const REDIS_IMAGE = 'attune-redis';

/** What a pod runner runs for it: `program` is this program's command line. */
export const redisPrograms = (program: readonly string[]): Readonly<Record<string, ImageProgram>> => ({
  [REDIS_IMAGE]: {
    argv: [...program, 'agent', 'redis'],
    paths: {
      '/data': 'ATTUNE_REDIS_DATA_DIR',
      '/projected': 'REDIS_OPERATOR_PROJECTED_SECRETS_DIR',
      '/tls': 'ATTUNE_REDIS_TLS_DIR',
    },
  },
});

/** Fails, with the way out, where Redis cannot be run. */
export function requireRedisServer(env: Environment, platform: string = process.platform): void {
  if (platform !== 'linux') {
    throw new Error(
      'Redis on the sandbox needs Linux: elsewhere an address like 127.3.4.5, one for each pod, is missing',
    );
  }
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  if (folders.some((folder) => isProgram(join(folder, 'redis-server')))) return;
  throw new Error(
    'redis-server is not in the PATH: install it (Debian, Ubuntu: apt-get install redis-server; Fedora: dnf install redis), ' +
      'version 7.0 or newer',
  );
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
