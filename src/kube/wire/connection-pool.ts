import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { AnswerParser, dateIn } from './answer-parser.ts';
import { connectTimeout, type Endpoint, toConnectError, toIdleTimeout, toOpenError } from './connect-error.ts';
import type { Dispatcher, Exchange, ExchangeSocket, Request } from './exchange.ts';

/** Opens a connection to the server; throws where it cannot even begin. */
type Dial = () => Socket;

// The API server closes idle connections after 90 s, many load balancers after 60 s. We must be first: a write on a
// connection that is just being closed is neither known to be done nor known to be not done.
const KEEP_ALIVE_MS = 50_000;
// A burst may open hundreds, at 60 KB each: those that are more than a few changes need are closed when it is over.
const KEPT = 8;
const SURPLUS_MS = 3000;

/**
 * Kept connections to one server, each of which carries one exchange at a time; the one used last is used first.
 *
 * Node's own HTTP client would do, for twice the processor time: an exchange of a few hundred bytes is all overhead.
 */
export class ConnectionPool implements Dispatcher {
  readonly #dial: Dial;
  readonly #endpoint: Endpoint;
  readonly #maxSockets: number;
  readonly #lines = new Set<PooledSocket>();
  readonly #idle: PooledSocket[] = [];
  readonly #waiting: Exchange[] = [];
  #closed = false;

  constructor(dial: Dial, endpoint: Endpoint, maxSockets: number) {
    this.#dial = dial;
    this.#endpoint = endpoint;
    this.#maxSockets = maxSockets;
  }

  send(exchange: Exchange): void {
    const line = this.#nextIdle();
    if (this.#closed) exchange.fail(new Error('closed'));
    else if (line) line.carry(exchange);
    else if (this.#lines.size < this.#maxSockets) this.#open(exchange);
    else this.#waiting.push(exchange);
  }

  closeIdle(): void {
    for (const line of this.#idle.splice(0)) line.destroy();
  }

  close(): void {
    this.#closed = true;
    for (const exchange of this.#waiting.splice(0)) exchange.fail(new Error('closed'));
    for (const line of this.#lines) line.destroy();
  }

  #open(exchange: Exchange): void {
    try {
      const line: PooledSocket = new PooledSocket(this.#dial(), this.#endpoint, {
        free: () => this.#free(line),
        gone: () => this.#gone(line),
        stale: () => this.closeIdle(),
      });
      this.#lines.add(line);
      line.carry(exchange);
    } catch (error) {
      exchange.fail(toOpenError(this.#endpoint, error));
    }
  }

  #free(line: PooledSocket): void {
    const next = this.#nextWaiting();
    if (next) line.carry(next);
    else {
      // The last is used first: what lies above the first few is what only a burst needed.
      line.rest(this.#idle.length < KEPT ? KEEP_ALIVE_MS : SURPLUS_MS);
      this.#idle.push(line);
    }
  }

  #gone(line: PooledSocket): void {
    this.#lines.delete(line);
    const at = this.#idle.indexOf(line);
    if (at >= 0) this.#idle.splice(at, 1);
    while (this.#lines.size < this.#maxSockets) {
      const next = this.#nextWaiting();
      if (!next) return;
      this.send(next);
    }
  }

  /** One that is being closed is still among them for a moment. */
  #nextIdle(): PooledSocket | undefined {
    let line = this.#idle.pop();
    while (line && !line.isOpen) line = this.#idle.pop();
    return line;
  }

  #nextWaiting(): Exchange | undefined {
    let next = this.#waiting.shift();
    while (next?.isOver) next = this.#waiting.shift();
    return next;
  }
}

interface PoolCallbacks {
  free(): void;
  gone(): void;
  /** The connection was kept, and no answer began on it: what broke it has hit the others that are kept as well. */
  stale(): void;
}

/** One connection. */
class PooledSocket implements ExchangeSocket {
  readonly #socket: Socket;
  readonly #endpoint: Endpoint;
  readonly #owner: PoolCallbacks;
  readonly #parser: AnswerParser;
  #exchange: Exchange | undefined;
  readonly #connected: () => void;
  #isUsed = false;
  #error: Error | undefined;

  constructor(socket: Socket, endpoint: Endpoint, owner: PoolCallbacks) {
    this.#socket = socket;
    this.#endpoint = endpoint;
    this.#owner = owner;
    this.#parser = new AnswerParser({
      head: (status, retryAfter, text) => this.#begin(status, retryAfter, text),
      data: (bytes) => this.#exchange?.push(bytes),
      end: (reusable) => this.#end(reusable),
    });
    socket.setNoDelay(true);
    this.#connected = connectTimeout(endpoint, (error) => this.#fail(error));
    socket.once(socket instanceof TLSSocket ? 'secureConnect' : 'connect', this.#connected);
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('timeout', () => this.#fail(toIdleTimeout(endpoint, socket.timeout)));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#close());
  }

  get isOpen(): boolean {
    return this.#socket.writable;
  }

  carry(exchange: Exchange): void {
    this.#exchange = exchange;
    exchange.assign(this, this.#isUsed);
    this.#isUsed = true;
    this.#socket.setTimeout(exchange.headMs);
    this.#socket.ref();
    this.#socket.write(textOf(exchange.request));
  }

  /** Closes unless it is used within so long. */
  rest(ms: number): void {
    this.#socket.setTimeout(ms);
    // What waits for nothing must not keep a process alive.
    this.#socket.unref();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  destroy(): void {
    if (this.#exchange?.isReused && this.#exchange.status === 0) this.#owner.stale();
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    try {
      if (!this.#exchange) throw new Error('an answer that nobody asked for');
      this.#parser.push(chunk);
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #begin(status: number, retryAfter: string | undefined, head: string): void {
    const exchange = this.#exchange;
    if (exchange && exchange.idleMs !== exchange.headMs) this.#socket.setTimeout(exchange.idleMs);
    exchange?.begin(status, retryAfter, exchange.wantsDate ? dateIn(head) : undefined);
  }

  #end(reusable: boolean): void {
    const exchange = this.#exchange;
    this.#exchange = undefined;
    if (!reusable) this.#socket.destroy();
    else {
      this.#socket.resume();
      this.#owner.free();
    }
    exchange?.complete();
  }

  #fail(error: Error): void {
    this.#error ??= error;
    this.#socket.destroy();
  }

  #close(): void {
    this.#connected();
    this.#owner.gone();
    if (!this.#error && this.#parser.close()) return;
    this.#exchange?.fail(toConnectError(this.#endpoint, this.#error ?? { code: 'ECONNRESET' }));
  }
}

/** In one piece, so that it is sent in one. */
function textOf({ method, path, headers, body = '' }: Request): string {
  let text = `${method} ${path} HTTP/1.1\r\n`;
  for (const name in headers) text += `${name}: ${headers[name]}\r\n`;
  return `${text}\r\n${body}`;
}
