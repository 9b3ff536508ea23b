import { type Clock, systemClock } from '../../runtime/clock.ts';
import type { Connection } from '../auth/connection.ts';
import { CredentialBackoff, type Credentials, describeRefusal } from '../auth/credential-backoff.ts';
import { KubeError, refusal, retryWait, type Verb } from '../kube-error.ts';
import { OutageDetector } from '../outages.ts';
import { parseJson } from '../parse-json.ts';
import { ServerTime } from '../server-time.ts';
import { abortReason, awaitCredential, localError, toCallError, toCredentialError } from './call-errors.ts';
import { type Endpoint, serverEndpoint } from './connect-error.ts';
import { ConnectionPool } from './connection-pool.ts';
import { dialer } from './dial.ts';
import { Exchange, type Request } from './exchange.ts';
import { type Erasable, parseSecrets } from './secret-json.ts';
import { Turns } from './turns.ts';
import { wipeStackSoon } from './wipe-stack.ts';

/** One HTTP exchange with the API server. */
export interface Call {
  readonly verb: Verb;
  readonly path: string;
  /** With its question mark; kept out of error messages. */
  readonly query?: string;
  /** The plural, for metrics. */
  readonly resource: string;
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Fail when nothing has been sent or received for this long. */
  readonly idleMs?: number;
  /** The answer holds Secrets: their data are read as bytes, which are overwritten after use. */
  readonly secret?: boolean;
  /** An answer beyond this is broken off. */
  readonly maxBytes?: number;
}

/** A parsed answer, and how long it was. */
export interface Answer<T> extends Erasable<T> {
  readonly bytes: number;
}

/** One finished call, for the client's metrics. `code` is `<error>` where no answer came. */
export interface Observation {
  readonly verb: Verb;
  readonly method: string;
  readonly resource: string;
  readonly code: string;
  readonly ms: number;
  readonly host: string;
}

export interface TransportOptions {
  /** How many calls may be in flight at once; watches do not count. */
  readonly maxSockets?: number | undefined;
  /** How long a connection may be silent before it counts as lost. */
  readonly idleMs?: number | undefined;
  readonly observe?: ((call: Observation) => void) | undefined;
  readonly clock?: Clock | undefined;
}

const METHODS: Readonly<Record<Verb, string>> = {
  get: 'GET',
  list: 'GET',
  watch: 'GET',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
};

const IDLE_MS = 30_000;
// Measured on two cores: 64 PATCHes in flight are served as fast as 1,000.
const MAX_SOCKETS = 64;
/**
 * Room for any one object: etcd refuses those over 1.5 MiB, and of each byte JSON may make six (`<` is `\u003c`). Anything
 * larger fails before it fills the memory.
 */
export const MAX_OBJECT_BYTES = 16 * 1024 * 1024;
// How many answers over 1 MiB are received at once. One that stalls must not hold up all others.
const LARGE_ANSWERS = 2;
// To parse and digest so much takes some 50 ms.
const LARGE_BYTES = 256 * 1024;

/** Sends calls over kept-alive connections. Throws KubeErrors, or the caller's own reason where the caller aborted. */
export class Transport {
  readonly #connection: Connection;
  readonly #calls: ConnectionPool;
  /** Each watch keeps a connection busy; with a pool of their own they leave the others enough. */
  readonly #watches: ConnectionPool;
  /** What is large is received in turns: answers, and events of watches. */
  readonly largeAnswers = new Turns(LARGE_ANSWERS);
  #lastTurn = Promise.resolve();
  readonly #prefix: string;
  readonly #observe: ((call: Observation) => void) | undefined;
  /** How long a connection may be silent in the middle of an answer. */
  readonly idleMs: number;
  readonly clock: Clock;
  readonly serverTime: ServerTime;
  readonly #endpoint: Endpoint;
  readonly #credentialBackoff: CredentialBackoff;
  readonly outages = new OutageDetector(() => performance.now());
  /** How many calls wait for their answer; watches do not count. */
  inFlight = 0;

  constructor(connection: Connection, options: TransportOptions = {}) {
    this.#connection = connection;
    this.#observe = options.observe;
    this.idleMs = options.idleMs ?? IDLE_MS;
    this.clock = options.clock ?? systemClock;
    this.serverTime = new ServerTime(this.clock);
    this.#credentialBackoff = new CredentialBackoff(this.clock);
    const dial = dialer(connection);
    const { server, proxy, tunnel } = connection;
    this.#endpoint = serverEndpoint(server, proxy);
    this.#calls = new ConnectionPool(dial, this.#endpoint, options.maxSockets ?? MAX_SOCKETS, tunnel);
    this.#watches = new ConnectionPool(dial, this.#endpoint, Number.POSITIVE_INFINITY, tunnel);
    this.#prefix = server.pathname.replace(/\/$/, '');
  }

  /** Sends the call and parses the answer. */
  async json<T>(call: Call): Promise<T> {
    return (await this.answer<T>(call)).value;
  }

  /** The same for an answer with Secrets, to be erased after use. */
  async answer<T>(call: Call): Promise<Answer<T>> {
    this.inFlight += 1;
    try {
      const body = await collect(call, await this.open(call), this.largeAnswers);
      if (body.length > LARGE_BYTES) await this.#turnOfTheLoop(call, body);
      const parsed = parse<T>(call, body);
      if (!parsed) throw localError(call, 'BadAnswer', 'the answer is not JSON');
      return { ...parsed, bytes: body.length };
    } finally {
      this.inFlight -= 1;
    }
  }

  /**
   * Large answers that come together are parsed one in each turn of the event loop: between two of them timers run and
   * other connections are served.
   */
  async #turnOfTheLoop(call: Call, body: Buffer): Promise<void> {
    this.#lastTurn = this.#lastTurn.then(() => new Promise((resolve) => setImmediate(resolve)));
    await this.#lastTurn;
    if (!call.signal?.aborted) return;
    body.fill(0);
    throw abortReason(call.signal);
  }

  /** Sends the call; the caller reads the body as it arrives. Throws for any status but 2xx. */
  async open(call: Call): Promise<Exchange> {
    const start = this.clock.now();
    let code: string | undefined = '<error>';
    try {
      const given = this.#authorization(call, false);
      const header = typeof given === 'object' ? await given : given;
      const credential = (): Credentials => ({ header, tls: this.#connection.tls() });
      if (this.#credentialBackoff.mustWait(call.path, credential)) {
        code = undefined;
        throw this.#unauthorized(call, credential());
      }
      let exchange = await this.#send(call, header);
      if (exchange.status === 401) exchange = await this.#sendAgain(call, exchange, credential());
      code = String(exchange.status);
      if (exchange.date !== undefined) this.serverTime.observe(exchange.date, start);
      if (exchange.status < 500) this.#credentialBackoff.accepted(call.path);
      if (exchange.status >= 200 && exchange.status < 300) return exchange;
      throw await this.#readRefusal(call, exchange);
    } catch (error) {
      if (code !== undefined && KubeError.is(error) && error.status > 0) code = String(error.status);
      throw error;
    } finally {
      if (code !== undefined) this.#record(call, code, start);
    }
  }

  #record({ verb, resource, signal }: Call, code: string, start: number): void {
    // A call that its caller aborted says nothing about the server.
    if (!signal?.aborted) this.outages.ended(resource, Number(code) || 0);
    const { host } = this.#connection.server;
    this.#observe?.({ verb, method: METHODS[verb], resource, code, ms: this.clock.now() - start, host });
  }

  /** After a 401: gets the credential anew, and if it is another one, sends the call once more. */
  async #sendAgain(call: Call, refused: Exchange, used: Credentials): Promise<Exchange> {
    await collect(call, refused, this.largeAnswers);
    const header = await this.#authorization(call, true);
    const credential = { header, tls: this.#connection.tls() };
    // The client certificate was sent when the connection was opened, and may have been renewed since.
    const isOldCertificate = refused.isReused && credential.tls.cert !== undefined;
    const isNew = isOldCertificate || header !== used.header || credential.tls !== used.tls;
    if (isNew) {
      this.#calls.closeIdle();
      this.#watches.closeIdle();
      const exchange = await this.#send(call, header);
      if (exchange.status !== 401) return exchange;
      await collect(call, exchange, this.largeAnswers);
    }
    this.#credentialBackoff.refused(call.path, credential);
    throw this.#unauthorized(call, credential);
  }

  #unauthorized({ verb, path }: Call, credential: Credentials): KubeError {
    const detail = describeRefusal(this.#endpoint.name, credential);
    return new KubeError({ verb, path, status: 401, reason: 'Unauthorized', detail });
  }

  async #readRefusal(call: Call, exchange: Exchange): Promise<KubeError> {
    const body = parseJson((await collect(call, exchange, this.largeAnswers)).toString());
    return refusal(call, exchange.status, body, retryWait(exchange.retryAfter, this.serverTime.now()));
  }

  close(): void {
    this.#calls.close();
    this.#watches.close();
  }

  async #send(call: Call, authorization: string | undefined): Promise<Exchange> {
    const request = this.#request(call, authorization);
    const first = this.#attempt(call, request);
    try {
      return await first.answered;
    } catch (error) {
      // The server had just closed the kept connection. A read is safe to send again; a write may have arrived.
      const isStale = first.isReused && isReset(error) && !call.signal?.aborted;
      if (!isStale || request.method !== 'GET') throw toCallError(call, error);
    }
    const second = this.#attempt(call, request);
    return await second.answered.catch((error: unknown) => {
      throw toCallError(call, error);
    });
  }

  #authorization(call: Call, refused: boolean): string | undefined | Promise<string | undefined> {
    try {
      const given = this.#connection.authorization(refused);
      return typeof given === 'object' ? awaitCredential(call, given) : given;
    } catch (error) {
      throw toCredentialError(call, error);
    }
  }

  #request(call: Call, authorization: string | undefined): Request {
    const { body } = call;
    // A line break in the credential would begin a header of its own.
    if (authorization?.match(/[\r\n]/)) throw localError(call, 'Unreachable', 'the credential has more than one line');
    return {
      method: METHODS[call.verb],
      path: `${this.#prefix}${call.path}${call.query ?? ''}`,
      headers: {
        host: this.#connection.server.host,
        accept: call.accept ?? 'application/json',
        'user-agent': 'attune',
        ...(authorization !== undefined && { authorization }),
        ...(body !== undefined && {
          'content-type': call.contentType ?? 'application/json',
          'content-length': Buffer.byteLength(body),
        }),
      },
      body,
    };
  }

  #attempt(call: Call, request: Request): Exchange {
    const { signal } = call;
    const idleMs = call.idleMs ?? this.idleMs;
    // The events of a watch may be far apart, but its answer begins at once.
    const exchange = new Exchange(request, Math.min(this.idleMs, idleMs), idleMs, this.serverTime.wantsDate);
    const onAbort = () => exchange.fail(abortReason(signal));
    if (signal?.aborted) onAbort();
    else (call.verb === 'watch' ? this.#watches : this.#calls).send(exchange);
    if (signal && !exchange.isOver) {
      signal.addEventListener('abort', onAbort, { once: true });
      exchange.onOver = () => signal.removeEventListener('abort', onAbort);
    }
    return exchange;
  }
}

function isReset(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ECONNRESET' || code === 'EPIPE';
}

async function collect(call: Call, exchange: Exchange, turns: Turns): Promise<Buffer> {
  const { maxBytes = MAX_OBJECT_BYTES } = call;
  const tooLong = () => localError(call, 'TooLarge', `the answer is over ${maxBytes} bytes`);
  try {
    return await exchange.body({ maxBytes, tooLong, turns });
  } catch (error) {
    throw toCallError(call, error);
  }
}

/** Undefined for what is not JSON. Overwrites the bytes. */
export function parse<T>({ secret }: Call, bytes: Buffer): Erasable<T> | undefined {
  const parsed = secret ? parseSecrets(bytes) : plain(parseJson(bytes.toString()));
  bytes.fill(0);
  if (secret) wipeStackSoon();
  return parsed as Erasable<T> | undefined;
}

const plain = (value: unknown): Erasable<unknown> | undefined =>
  value === undefined ? undefined : { value, erase: nothing };
const nothing = (): void => {};
