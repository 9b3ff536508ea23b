import { hearFirstWords } from './first-words.ts';
import { logIn } from './login.ts';
import { type Credential, type Redis, RedisRefusal } from './redis.ts';
import { openSession, type Session, wasDropped } from './session.ts';
import type { RedisTarget } from './target.ts';

export interface RedisConnection extends Redis {
  /** Whose credential has worked. */
  readonly user: string;
  /** False after it was closed or lost: whatever is sent then is rejected at once. */
  readonly isOpen: boolean;
  close(): void;
}

export interface ConnectOptions {
  /** Asked at each connect, tried in their order. */
  readonly credentials: () => readonly Credential[];
  /** How long anything may take: connecting, and each answer. 5 s unless told. */
  readonly timeoutMs?: number | undefined;
  /** Gives up connecting, and closes the connection later on. */
  readonly signal?: AbortSignal | undefined;
  /** Called once when the connection ends though nobody closed it. */
  readonly onLost?: (() => void) | undefined;
}

const TIMEOUT_MS = 5000;
/** A Redis that closes the door says so at once. */
const FIRST_WORDS_MS = 2000;

/**
 * A connection of somebody who has logged in; it is not opened again when it breaks. A Redis that is silent for too long
 * loses it: its later answers would be taken for those to other questions.
 */
export async function connectRedis(target: RedisTarget, options: ConnectOptions): Promise<RedisConnection> {
  const { credentials, timeoutMs = TIMEOUT_MS, signal, onLost } = options;
  let session: Session | undefined;
  let user: string | undefined;
  try {
    session = await openSession(target, { timeoutMs, signal, onLost: () => user !== undefined && onLost?.() });
    user = await logIn(session, credentials());
    return connectionOf(session, user);
  } catch (error) {
    session?.close();
    const words = wasDropped(error) ? await hearFirstWords(target, FIRST_WORDS_MS) : undefined;
    throw words === undefined ? error : new RedisRefusal(words);
  }
}

const connectionOf = (session: Session, user: string): RedisConnection => ({
  user,
  get isOpen() {
    return session.isOpen;
  },
  send: session.send,
  close: session.close,
});
