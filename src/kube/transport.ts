import { type Clock, systemClock } from '../runtime/clock.ts';
import { AgentWire } from './agent-wire.ts';
import type { Connection } from './connection.ts';
import { dialler } from './dial.ts';
import { Exchange, Obstacle, type Request, Silence, type Wire } from './exchange.ts';
import { KubeError, type LocalReason, refusal, retryWait, type Verb } from './kube-error.ts';
import { Outages } from './outages.ts';
import { type Opened, parseSecrets } from './secret-json.ts';
import { ServerTime } from './server-time.ts';
import { wipeStackSoon } from './stack.ts';
import { KeptLines } from './wire.ts';

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
  readonly #wire: Wire;
  /** Watches hold a connection each, for as long as they live: they must not use up those of the others. */
  readonly #watchWire: Wire;
  readonly #prefix: string;
  readonly #observe: ((call: Observation) => void) | undefined;
  readonly #idleMs: number;
  readonly #clock: Clock;
  readonly #serverTime: ServerTime;
  readonly outages = new Outages(() => performance.now());
  #inFlight = 0;

  constructor(connection: Connection, options: TransportOptions = {}) {
    this.#connection = connection;
    this.#observe = options.observe;
    this.#idleMs = options.idleMs ?? IDLE_MS;
    this.#clock = options.clock ?? systemClock;
    this.#serverTime = new ServerTime(this.#clock);
    const dial = dialler(connection);
    const { agent, server } = connection;
    const newWire = (maxLines: number): Wire =>
      agent ? new AgentWire(server, agent, maxLines) : new KeptLines(dial, maxLines);
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
  async opened<T>(call: Call): Promise<Opened<T>> {
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
    let code = '<error>';
    try {
      let exchange = await this.#send(call, false);
      if (exchange.status === 401) {
        await collect(call, exchange);
        // A client certificate that was renewed meanwhile is shown on new connections only.
        this.#wire.forgetIdle();
        this.#watchWire.forgetIdle();
        exchange = await this.#send(call, true);
      }
      code = String(exchange.status);
      if (exchange.date !== undefined) this.#serverTime.heard(exchange.date, start);
      if (exchange.status >= 200 && exchange.status < 300) return exchange;
      throw await readRefusal(call, exchange, this.serverNow());
    } finally {
      // What the caller called off says nothing about the server.
      if (!call.signal?.aborted) this.outages.ended(call.resource, Number(code) || 0);
      this.#observe?.({
        verb: call.verb,
        resource: call.resource,
        code,
        ms: this.#clock.now() - start,
        host: this.#connection.server.host,
      });
    }
  }

  close(): void {
    this.#wire.close();
    this.#watchWire.close();
  }

  async #send(call: Call, refused: boolean): Promise<Exchange> {
    const credential = this.#credential(call, refused);
    const request = this.#request(call, typeof credential === 'object' ? await credential : credential);
    const first = this.#attempt(call, request);
    try {
      return await first.answered;
    } catch (error) {
      // A kept connection that the server had closed meanwhile. A read can be asked again.
      const isStale = first.isReused && isReset(error) && !call.signal?.aborted;
      if (!isStale || call.method !== 'GET') throw bodyFailure(call, error);
    }
    const second = this.#attempt(call, request);
    return await second.answered.catch((error: unknown) => {
      throw bodyFailure(call, error);
    });
  }

  #credential(call: Call, refused: boolean): string | undefined | Promise<string | undefined> {
    try {
      const given = this.#connection.authorization(refused);
      return typeof given === 'object' ? whenGiven(call, given) : given;
    } catch (error) {
      throw noCredential(call, error);
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
    const exchange = new Exchange(request, Math.min(this.#idleMs, idleMs), idleMs, this.#serverTime.isAsking);
    const callOff = () => exchange.breakOff(abortReason(signal));
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

/** Who gives credentials knows nothing of the caller's signal, and may take as long as a plugin takes. */
async function whenGiven(call: Call, given: Promise<string | undefined>): Promise<string | undefined> {
  const { signal } = call;
  const called = Promise.withResolvers<never>();
  const callOff = () => called.reject(abortReason(signal));
  if (signal?.aborted) callOff();
  signal?.addEventListener('abort', callOff, { once: true });
  try {
    return await Promise.race([given, called.promise]);
  } catch (error) {
    throw signal?.aborted ? abortReason(signal) : noCredential(call, error);
  } finally {
    signal?.removeEventListener('abort', callOff);
  }
}

/** What a plugin or a file says of its failure may quote the credential: nothing of it is told but its code. */
function noCredential(call: Call, error: unknown): KubeError {
  const code = String((error as NodeJS.ErrnoException | undefined)?.code);
  return failure(call, 'Unreachable', /^E[A-Z0-9_]+$/.test(code) ? `no credential: ${code}` : 'no credential');
}

/** Why the caller called off; always an Error. */
export function abortReason(signal: AbortSignal | undefined): Error {
  return signal?.reason instanceof Error ? signal.reason : new Error('called off');
}

/** A failure of which the API server knows nothing. */
export function failure(call: Call, reason: LocalReason, detail?: string): KubeError {
  return new KubeError({ ...describe(call), status: 0, reason, detail });
}

/** Rethrows what a body's stream threw as what it means. */
export function bodyFailure(call: Call, error: unknown): Error {
  if (call.signal?.aborted) return abortReason(call.signal);
  if (error instanceof KubeError) return error;
  if (error instanceof Silence) return failure(call, 'Silent');
  if (error instanceof Obstacle) return failure(call, 'Unreachable', error.message);
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return failure(call, 'Unreachable', code ?? 'the answer broke off');
}

function describe(call: Call): { verb: Verb; path: string } {
  return { verb: call.verb, path: call.path };
}

async function collect(call: Call, exchange: Exchange): Promise<Buffer> {
  const tooLong = () => failure(call, 'TooLarge', `the answer is over ${MAX_ANSWER_BYTES} bytes`);
  try {
    return await exchange.body(MAX_ANSWER_BYTES, tooLong);
  } catch (error) {
    throw bodyFailure(call, error);
  }
}

/** Undefined for what is not JSON. The bytes are used up. */
export function parse<T>({ secret }: Call, bytes: Buffer): Opened<T> | undefined {
  const opened = secret ? parseSecrets(bytes) : plain(tryParse(bytes));
  bytes.fill(0);
  if (secret) wipeStackSoon();
  return opened as Opened<T> | undefined;
}

const plain = (value: unknown): Opened<unknown> | undefined =>
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
  return refusal(describe(call), exchange.status, body, retryWait(exchange.retryAfter, nowMs));
}
