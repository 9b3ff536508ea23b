import type { ConnectionOptions } from 'node:tls';
import { ErrorReply, RedisClient, SocketClosedUnexpectedlyError } from '@redis/client';
import { type Redis, RedisRefusal, RedisUnreachable, type Reply } from './redis.ts';
import { refusalWords } from './refusal-words.ts';
import { nameOf, type RedisTarget } from './target.ts';

/** One connection, from its beginning to its end: it is never opened again. */
export interface Session extends Redis {
  readonly isOpen: boolean;
  /** What was sent and is not answered yet is rejected. */
  close(): void;
}

export interface SessionOptions {
  /** How long anything may take: connecting, and each answer. */
  readonly timeoutMs: number;
  /** Ends the session, also while it is being opened. */
  readonly signal?: AbortSignal | undefined;
  /** Called once when it ends though nobody closed it. */
  readonly onLost?: (() => void) | undefined;
}

const GRACE_MS = 100;

/** Opens a connection; nobody has logged in yet. */
export async function openSession(
  target: RedisTarget,
  { timeoutMs, signal, onLost }: SessionOptions,
): Promise<Session> {
  const name = nameOf(target);
  // Not by createClient: that makes a method for each of 500 commands, and takes 24 MB for it.
  const client = new RedisClient({
    RESP: 2,
    disableOfflineQueue: true,
    disableClientInfo: true,
    // The library's own limit only counts while a command is not written yet; ours counts until the answer.
    commandOptions: { timeout: 0 },
    socket: { ...addressOf(target), connectTimeout: timeoutMs, reconnectStrategy: false },
  });
  const over = Promise.withResolvers<never>();
  over.promise.catch(() => {});
  let ended: RedisUnreachable | undefined;
  let waiting = 0;

  const end = (why: RedisUnreachable): void => {
    if (ended) return;
    ended = why;
    over.reject(why);
    signal?.removeEventListener('abort', abort);
    // Rejects whatever is not answered yet.
    client.destroy();
  };
  const abort = (): void => end(new RedisUnreachable(`${name}: the connection was given up`));
  const silent = (): void => lose(new RedisUnreachable(`${name} does not answer for ${timeoutMs / 1000} s`));
  const lose = (why: RedisUnreachable): void => {
    if (ended) return;
    end(why);
    onLost?.();
  };
  // Also for an answer that nobody waits for: from there on answers would be out of step.
  client.on('error', (error: NodeJS.ErrnoException) => {
    // What the kernel did not take, Redis has not seen; of several commands at once nobody knows which.
    const undelivered = waiting === 1 && error.code === 'EPIPE' && error.syscall === 'write';
    lose(new RedisUnreachable(`${name} ${inWords(error)}`, { cause: error, undelivered }));
  });

  const within = async <T>(answer: Promise<T>): Promise<T> => {
    let timer = setTimeout(() => {
      // Whoever was stopped himself for so long may have the answer already, and only to read it.
      timer = setTimeout(silent, GRACE_MS);
    }, timeoutMs);
    try {
      return await answer;
    } finally {
      clearTimeout(timer);
    }
  };

  if (signal?.aborted) abort();
  else {
    signal?.addEventListener('abort', abort);
    const opening = client.connect();
    // A connection that comes about after its end would stay open for ever.
    opening.then(() => ended && client.destroy()).catch(() => {});
    await within(Promise.race([opening, over.promise])).catch((error: unknown) => lose(unreachable(name, error)));
  }
  if (ended) throw ended;

  return {
    get isOpen() {
      return !ended;
    },
    close: () => end(new RedisUnreachable(`${name}: the connection is closed`)),
    async send(...words) {
      if (ended) throw new RedisUnreachable(ended.message, { undelivered: true });
      waiting += 1;
      try {
        return asReply(await within(client.sendCommand(words)));
      } catch (error) {
        throw error instanceof ErrorReply ? refusal(error, words) : (ended ?? error);
      } finally {
        waiting -= 1;
      }
    },
  };
}

function addressOf(target: RedisTarget) {
  if ('path' in target) return { path: target.path };
  const { host, port, tls } = target;
  if (!tls) return { host, port };
  const checks: ConnectionOptions = { checkServerIdentity: () => undefined, ...(tls.ca && { ca: tls.ca }) };
  return { host, port, tls: true as const, ...checks };
}

/** Without the error itself as its cause: that one may quote a secret. */
const refusal = ({ message }: ErrorReply, words: readonly (string | Buffer)[]): RedisRefusal =>
  new RedisRefusal(refusalWords(message, words));

/** An error inside of a list, like the answer to EXEC, counts for the whole. */
function asReply(value: unknown): Reply {
  if (value instanceof ErrorReply) throw value;
  return Array.isArray(value) ? value.map(asReply) : (value as Reply);
}

const unreachable = (name: string, error: unknown): RedisUnreachable =>
  new RedisUnreachable(`${name} ${inWords(error as NodeJS.ErrnoException)}`, { cause: error });

const CLOSED = ['ECONNRESET', 'EPIPE'];
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'is not there: nobody listens',
  ENOENT: 'is not there: no such socket',
  EACCES: 'cannot be reached: no permission for the socket',
  EAGAIN: 'takes no more connections at the moment',
};

function inWords(error: NodeJS.ErrnoException): string {
  if (isClosing(error)) return 'has closed the connection';
  return WORDS[error.code ?? ''] ?? `cannot be reached: ${error.message}`;
}

const isClosing = (error: NodeJS.ErrnoException): boolean =>
  error instanceof SocketClosedUnexpectedlyError || CLOSED.includes(error.code ?? '');

/** Redis was there, and has closed the connection. */
export const wasDropped = (error: unknown): boolean =>
  error instanceof RedisUnreachable && error.cause instanceof Error && isClosing(error.cause);
