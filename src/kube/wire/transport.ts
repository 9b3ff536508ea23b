import { type Clock, systemClock } from '../../runtime/clock.ts';
import type { Connection } from '../auth/connection.ts';
import { CredentialBackoff, type Proof, refusalWords } from '../auth/credential-backoff.ts';
import { KubeError, refusal, retryWait, type Verb } from '../kube-error.ts';
import { OutageDetector } from '../outages.ts';
import { ServerTime } from '../server-time.ts';
import { AgentDispatcher } from './agent-dispatcher.ts';
import { abortReason, awaitCredential, failure, toCallError, toCredentialError } from './call-errors.ts';
import { type Endpoint, serverEndpoint } from './connect-error.ts';
import { ConnectionPool } from './connection-pool.ts';
import { dialer } from './dial.ts';
import { type Dispatcher, Exchange, type Request } from './exchange.ts';
import { type Erasable, parseSecrets } from './secret-json.ts';
import { wipeStackSoon } from './wipe-stack.ts';

/** One HTTP exchange with the API server. */
export interface Call {
  readonly verb: Verb;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  /** With its question mark; kept out of error messages. */
  readonly query?: string;
  /** The plural, for metrics. */
  readonly resource: string;
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Give up when nothing has been sent or received for this long. */
  readonly idleMs?: number;
  /** The answer has Secrets of others in it: their data are read as bytes, and nothing is left of them. */
  readonly secret?: boolean;
}

/** What is told about each exchange, for the metrics of the client. `code` is `<error>` where no answer came. */
export interface Observation {
  readonly verb: Verb;
  readonly resource: string;
  readonly code: string;
  readonly ms: number;
  readonly host: string;
}

export interface TransportOptions {
  /** Most calls under way at once; watches are not among them. */
  readonly maxSockets?: number | undefined;
  /** How long an answer may say nothing before its connection counts as lost. */
  readonly idleMs?: number | undefined;
  readonly observe?: ((call: Observation) => void) | undefined;
  readonly clock?: Clock | undefined;
}

const IDLE_MS = 30_000;
// Bounds how many calls are under way at once. On two cores, 64 PATCHes in flight are served as fast as 1,000.
const MAX_SOCKETS = 64;
// A page of 500 large objects fits; what does not is refused before it fills the memory.
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** Sends calls over kept-alive connections; every failure is a KubeError, or the reason of the caller's own abort. */
export class Transport {
  readonly #connection: Connection;
  readonly #wire: Dispatcher;
  /** Watches hold a connection each, for as long as they live: they must not use up those of the others. */
  readonly #watchWire: Dispatcher;
  readonly #prefix: string;
  readonly #observe: ((call: Observation) => void) | undefined;
  readonly #idleMs: number;
  readonly #clock: Clock;
  readonly #serverTime: ServerTime;
  readonly #endpoint: Endpoint;
  readonly #credentialBackoff: CredentialBackoff;
  readonly outages = new OutageDetector(() => performance.now());
  #inFlight = 0;

  constructor(connection: Connection, options: TransportOptions = {}) {
    this.#connection = connection;
    this.#observe = options.observe;
    this.#idleMs = options.idleMs ?? IDLE_MS;
    this.#clock = options.clock ?? systemClock;
    this.#serverTime = new ServerTime(this.#clock);
    this.#credentialBackoff = new CredentialBackoff(this.#clock);
    const dial = dialer(connection);
    const { agent, server } = connection;
    const endpoint = serverEndpoint(server, connection.proxy);
    this.#endpoint = endpoint;
    const newWire = (maxSockets: number): Dispatcher =>
      agent ? new AgentDispatcher(server, agent, endpoint, maxSockets) : new ConnectionPool(dial, endpoint, maxSockets);
    this.#wire = newWire(options.maxSockets ?? MAX_SOCKETS);
    this.#watchWire = newWire(Number.POSITIVE_INFINITY);
    this.#prefix = connection.server.pathname.replace(/\/$/, '');
  }

  /** Calls whose answer is awaited; open watches are not among them. */
  get inFlight(): number {
    return this.#inFlight;
  }

  serverNow(): number {
    return this.#serverTime.now();
  }

  /** Sends and parses the answer. */
  async json<T>(call: Call): Promise<T> {
    return (await this.opened<T>(call)).value;
  }

  /** Sends and parses the answer, of which something may have to be erased after its use. */
  async opened<T>(call: Call): Promise<Erasable<T>> {
    this.#inFlight += 1;
    try {
      const opened = parse<T>(call, await collect(call, await this.open(call)));
      if (!opened) throw failure(call, 'BadAnswer', 'the answer is not JSON');
      return opened;
    } finally {
      this.#inFlight -= 1;
    }
  }

  /** Sends and hands over the body of a good answer, to be read by the caller as it comes. */
  async open(call: Call): Promise<Exchange> {
    const start = this.#clock.now();
    let code: string | undefined = '<error>';
    try {
      const given = this.#credential(call, false);
      const header = typeof given === 'object' ? await given : given;
      const proof = (): Proof => ({ header, tls: this.#connection.tls() });
      if (this.#credentialBackoff.mustWait(call.path, proof)) {
        code = undefined;
        throw this.#unauthorized(call, proof());
      }
      let exchange = await this.#send(call, header);
      if (exchange.status === 401) exchange = await this.#renewed(call, exchange, proof());
      code = String(exchange.status);
      if (exchange.date !== undefined) this.#serverTime.heard(exchange.date, start);
      if (exchange.status < 500) this.#credentialBackoff.accepted(call.path);
      if (exchange.status >= 200 && exchange.status < 300) return exchange;
      throw await readRefusal(call, exchange, this.serverNow());
    } catch (error) {
      if (code !== undefined && KubeError.is(error) && error.status > 0) code = String(error.status);
      throw error;
    } finally {
      if (code !== undefined) this.#ended(call, code, start);
    }
  }

  #ended({ verb, resource, signal }: Call, code: string, start: number): void {
    // What the caller called off says nothing about the server.
    if (!signal?.aborted) this.outages.ended(resource, Number(code) || 0);
    const { host } = this.#connection.server;
    this.#observe?.({ verb, resource, code, ms: this.#clock.now() - start, host });
  }

  /** After a 401: asks for the credential anew, and once more where there is something new to be shown. */
  async #renewed(call: Call, refused: Exchange, shown: Proof): Promise<Exchange> {
    await collect(call, refused);
    const given = this.#credential(call, true);
    const header = typeof given === 'object' ? await given : given;
    const proof = { header, tls: this.#connection.tls() };
    // A client certificate that was renewed meanwhile is shown on new connections only.
    const isOldLine = refused.isReused && (proof.tls.cert ?? proof.tls.pfx) !== undefined;
    const isNew = isOldLine || header !== shown.header || proof.tls !== shown.tls;
    if (isNew) {
      this.#wire.closeIdle();
      this.#watchWire.closeIdle();
      const exchange = await this.#send(call, header);
      if (exchange.status !== 401) return exchange;
      await collect(call, exchange);
    }
    this.#credentialBackoff.refused(call.path, proof);
    throw this.#unauthorized(call, proof);
  }

  #unauthorized({ verb, path }: Call, proof: Proof): KubeError {
    const detail = refusalWords(this.#endpoint.name, proof);
    return new KubeError({ verb, path, status: 401, reason: 'Unauthorized', detail });
  }

  close(): void {
    this.#wire.close();
    this.#watchWire.close();
  }

  async #send(call: Call, authorization: string | undefined): Promise<Exchange> {
    const request = this.#request(call, authorization);
    const first = this.#attempt(call, request);
    try {
      return await first.answered;
    } catch (error) {
      // A kept connection that the server had closed meanwhile. A read can be asked again.
      const isStale = first.isReused && isReset(error) && !call.signal?.aborted;
      if (!isStale || call.method !== 'GET') throw toCallError(call, error);
    }
    const second = this.#attempt(call, request);
    return await second.answered.catch((error: unknown) => {
      throw toCallError(call, error);
    });
  }

  #credential(call: Call, refused: boolean): string | undefined | Promise<string | undefined> {
    try {
      const given = this.#connection.authorization(refused);
      return typeof given === 'object' ? awaitCredential(call, given) : given;
    } catch (error) {
      throw toCredentialError(call, error);
    }
  }

  #request(call: Call, authorization: string | undefined): Request {
    const { body, method } = call;
    // A credential comes from outside; what breaks a line there would be a header of its own.
    if (authorization?.match(/[\r\n]/)) throw failure(call, 'Unreachable', 'the credential has more than one line');
    return {
      method,
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
    const idleMs = call.idleMs ?? this.#idleMs;
    // A watch may be quiet for long, but a server begins to answer at once.
    const exchange = new Exchange(request, Math.min(this.#idleMs, idleMs), idleMs, this.#serverTime.wantsDate);
    const callOff = () => exchange.fail(abortReason(signal));
    if (signal?.aborted) callOff();
    else (call.verb === 'watch' ? this.#watchWire : this.#wire).send(exchange);
    if (signal && !exchange.isOver) {
      signal.addEventListener('abort', callOff, { once: true });
      exchange.onOver = () => signal.removeEventListener('abort', callOff);
    }
    return exchange;
  }
}

function isReset(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ECONNRESET' || code === 'EPIPE';
}

async function collect(call: Call, exchange: Exchange): Promise<Buffer> {
  const tooLong = () => failure(call, 'TooLarge', `the answer is over ${MAX_ANSWER_BYTES} bytes`);
  try {
    return await exchange.body(MAX_ANSWER_BYTES, tooLong);
  } catch (error) {
    throw toCallError(call, error);
  }
}

/** Undefined for what is not JSON. The bytes are used up. */
export function parse<T>({ secret }: Call, bytes: Buffer): Erasable<T> | undefined {
  const opened = secret ? parseSecrets(bytes) : plain(tryParse(bytes));
  bytes.fill(0);
  if (secret) wipeStackSoon();
  return opened as Erasable<T> | undefined;
}

const plain = (value: unknown): Erasable<unknown> | undefined =>
  value === undefined ? undefined : { value, erase: nothing };
const nothing = (): void => {};

/** The parser's own error quotes the text, and the text may be a Secret. */
function tryParse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

async function readRefusal(call: Call, exchange: Exchange, nowMs: number): Promise<KubeError> {
  const body = tryParse(await collect(call, exchange));
  return refusal(call, exchange.status, body, retryWait(exchange.retryAfter, nowMs));
}
