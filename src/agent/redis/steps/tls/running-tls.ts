import { parseInfo } from '../../../../domain/redis/info.ts';
import type { Redis } from '../../connection/redis.ts';
import type { TlsPaths } from './material/versions.ts';

/** What a running server was told about TLS. */
export interface RunningTls {
  /** 0: it does not listen for TLS. */
  readonly port: number;
  readonly paths: TlsPaths;
  /** Another one after each start. */
  readonly runId: string;
}

export async function readRunning(redis: Redis): Promise<RunningTls> {
  const reply = await redis.send('CONFIG', 'GET', 'tls-port', 'tls-cert-file', 'tls-key-file', 'tls-ca-cert-file');
  const words = Array.isArray(reply) ? reply.map(String) : [];
  const value = (key: string): string => words[words.indexOf(key) + 1] ?? '';
  const info = parseInfo(String(await redis.send('INFO', 'server')));
  return {
    port: words.includes('tls-port') ? Number(value('tls-port')) : 0,
    paths: { cert: value('tls-cert-file'), key: value('tls-key-file'), ca: value('tls-ca-cert-file') },
    runId: info.get('run_id') ?? '',
  };
}

/** One command: Redis takes all three, or stays as it was. The files are read again even if the paths are the same. */
export async function tellPaths(redis: Redis, { cert, key, ca }: TlsPaths): Promise<void> {
  await redis.send('CONFIG', 'SET', 'tls-cert-file', cert, 'tls-key-file', key, 'tls-ca-cert-file', ca);
}
