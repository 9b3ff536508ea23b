import { connect } from 'node:net';
import type { RedisTarget } from './target.ts';

const MOST_BYTES = 4096;

/**
 * What a Redis says that closes the door at once (too many clients, protected mode), or undefined. Whoever sends something
 * to it mostly loses these words with the connection; so nothing is sent here. By TLS there are none.
 */
export function hearFirstWords(target: RedisTarget, timeoutMs: number): Promise<string | undefined> {
  if ('tls' in target && target.tls) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const socket = connect(target);
    let heard = '';
    socket.setEncoding('utf8');
    socket.setTimeout(timeoutMs, () => socket.destroy());
    socket.on('error', () => {});
    socket.on('data', (text: string) => {
      heard = (heard + text).slice(0, MOST_BYTES);
    });
    socket.on('close', () => resolve(/^-([^\r\n]*)\r\n/.exec(heard)?.[1]));
  });
}
