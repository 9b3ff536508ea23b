import type { Agent, IncomingMessage } from 'node:http';
import { http, https } from '../runtime/node-http.ts';
import type { Connection } from './connection.ts';
import { KubeError, type LocalReason, refusal, type Verb } from './kube-error.ts';

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
}

const IDLE_MS = 30_000;
// The API server closes idle connections after 90 s, many load balancers after 60 s. We must be first: a write on a
// connection that is just being closed is neither known to be done nor known to be not done.
const KEEP_ALIVE_MS = 50_000;
// Bounds how many calls are under way at once. On two cores, 64 PATCHes in flight are served as fast as 1,000.
const MAX_SOCKETS = 64;
// A page of 500 large objects fits; what does not is refused before it fills the memory.
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** Sends calls over kept-alive connections; every failure is a KubeError, or the reason of the caller's own abort. */
export class Transport {
  readonly #connection: Connection;
  readonly #agent: Agent;
  /** Watches hold a socket each, for as long as they live: they must not use up those of the others. */
  readonly #watchAgent: Agent;
  readonly #request: typeof http.request;
  readonly #target: { readonly host: string; readonly port: string; readonly prefix: string };
  readonly #observe: ((call: Observation) => void) | undefined;
  readonly #idleMs: number;
  #inFlight = 0;

  constructor(connection: Connection, options: TransportOptions = {}) {
    this.#connection = connection;
    this.#observe = options.observe;
    this.#idleMs = options.idleMs ?? IDLE_MS;
    const { server, tls } = connection;
    const secure = server.protocol === 'https:';
    this.#request = secure ? https.request : http.request;
    const newAgent = (maxSockets: number): Agent => {
      const sockets = { keepAlive: true, scheduling: 'lifo', timeout: KEEP_ALIVE_MS, maxSockets } as const;
      return connection.agent ?? (secure ? new https.Agent({ ...sockets, ...tls }) : new http.Agent(sockets));
    };
    this.#agent = newAgent(options.maxSockets ?? MAX_SOCKETS);
    this.#watchAgent = newAgent(Number.POSITIVE_INFINITY);
    this.#target = {
      host: server.hostname.replace(/^\[|\]$/g, ''),
      port: server.port || (secure ? '443' : '80'),
      prefix: server.pathname.replace(/\/$/, ''),
    };
  }

  /** Calls whose answer is awaited; open watches are not among them. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Sends and parses the answer. */
  async json<T>(call: Call): Promise<T> {
    this.#inFlight += 1;
    try {
      const response = await this.open(call);
      return parse<T>(call, await collect(call, response));
    } finally {
      this.#inFlight -= 1;
    }
  }

  /** Sends and hands over the body of a good answer, to be read by the caller as it comes. */
  async open(call: Call): Promise<IncomingMessage> {
    const start = performance.now();
    let code = '<error>';
    try {
      let response = await this.#send(call, false);
      if (response.statusCode === 401) {
        response.resume();
        response = await this.#send(call, true);
      }
      const status = response.statusCode ?? 0;
      code = String(status);
      if (status >= 200 && status < 300) return response;
      throw await readRefusal(call, response, status);
    } finally {
      this.#observe?.({
        verb: call.verb,
        resource: call.resource,
        code,
        ms: performance.now() - start,
        host: this.#connection.server.host,
      });
    }
  }

  close(): void {
    this.#agent.destroy();
    this.#watchAgent.destroy();
  }

  async #send(call: Call, refused: boolean): Promise<IncomingMessage> {
    const authorization = this.#connection.authorization(refused);
    const headers = this.#headers(call, typeof authorization === 'object' ? await authorization : authorization);
    try {
      return await this.#attempt(call, headers);
    } catch (error) {
      // A kept-alive connection that the server had closed meanwhile. A read can be asked again.
      if (call.method === 'GET' && error instanceof StaleSocket && !call.signal?.aborted) {
        return await this.#attempt(call, headers);
      }
      throw error;
    }
  }

  #headers(call: Call, authorization: string | undefined): Record<string, string | number> {
    const headers: Record<string, string | number> = {
      accept: call.accept ?? 'application/json',
      'user-agent': 'attune',
    };
    if (authorization !== undefined) headers['authorization'] = authorization;
    if (call.body !== undefined) {
      headers['content-type'] = call.contentType ?? 'application/json';
      headers['content-length'] = Buffer.byteLength(call.body);
    }
    return headers;
  }

  #attempt(call: Call, headers: Record<string, string | number>): Promise<IncomingMessage> {
    const { signal } = call;
    if (signal?.aborted) return Promise.reject(abortReason(signal));
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const request = this.#request({
      agent: call.verb === 'watch' ? this.#watchAgent : this.#agent,
      host: this.#target.host,
      port: this.#target.port,
      method: call.method,
      path: `${this.#target.prefix}${call.path}${call.query ?? ''}`,
      headers,
      timeout: call.idleMs ?? this.#idleMs,
    });
    // Once there is an answer its reader must learn the reason, and only the answer's own stream can tell.
    let open: { destroy(error: Error): unknown } = request;
    const abort = () => open.destroy(abortReason(signal));
    signal?.addEventListener('abort', abort, { once: true });
    request.once('close', () => signal?.removeEventListener('abort', abort));
    request.once('timeout', () => open.destroy(failure(call, 'Silent')));
    request.once('response', (response) => {
      open = response;
      resolve(response);
    });
    // Stays for the life of the request: an error after the answer began is the body's, and must not be unhandled.
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (signal?.aborted) reject(abortReason(signal));
      else if (error instanceof KubeError) reject(error);
      else if (request.reusedSocket && isReset(error)) reject(new StaleSocket(call, error));
      else reject(failure(call, 'Unreachable', error.code ?? error.message));
    });
    request.end(call.body);
    return promise;
  }
}

class StaleSocket extends KubeError {
  constructor(call: Call, error: NodeJS.ErrnoException) {
    super({ ...describe(call), status: 0, reason: 'Unreachable', detail: error.code });
  }
}

function isReset(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNRESET' || error.code === 'EPIPE';
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
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return failure(call, 'Unreachable', code ?? 'the answer broke off');
}

function describe(call: Call): { verb: Verb; path: string } {
  return { verb: call.verb, path: call.path };
}

/** The whole body. By events: iterating over the stream makes a small exchange half as dear again. */
function collect(call: Call, response: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes <= MAX_ANSWER_BYTES) return;
      chunks.length = 0;
      response.destroy(failure(call, 'TooLarge', `the answer is over ${MAX_ANSWER_BYTES} bytes`));
    });
    response.once('error', (error) => reject(bodyFailure(call, error)));
    response.once('end', () => {
      const [first] = chunks;
      resolve(first && chunks.length === 1 ? first.toString('utf8') : Buffer.concat(chunks, bytes).toString('utf8'));
    });
  });
}

function parse<T>(call: Call, text: string): T {
  const value = tryParse(text);
  if (value === undefined) throw failure(call, 'BadAnswer', 'the answer is not JSON');
  return value as T;
}

/** Undefined for what is not JSON. The parser's own error quotes the text, and the text may be a Secret. */
export function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function readRefusal(call: Call, response: IncomingMessage, status: number): Promise<KubeError> {
  const body = tryParse(await collect(call, response));
  return refusal(describe(call), status, body, response.headers['retry-after']);
}
