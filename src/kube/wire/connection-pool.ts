import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Tunnel } from '../auth/connection.ts';
import { AnswerParser, dateIn } from './answer-parser.ts';
import { connectTimeout, type Endpoint, toConnectError, toIdleTimeout, toOpenError } from './connect-error.ts';
import type { Exchange, ExchangeSocket, Request } from './exchange.ts';

/** Opens a connection to the server, perhaps inside of a tunnel; throws where it cannot even be started. */
type Dial = (tunnel?: Socket) => Socket;

// The API server closes idle connections after 90 s, many load balancers after 60 s. We close them first: if the server
// closes a connection while we write on it, nobody knows whether the write was carried out.
const KEEP_ALIVE_MS = 50_000;
// A burst may open hundreds of connections, at 60 KB each. Idle ones beyond the first few are closed soon.
const KEPT = 8;
const SURPLUS_MS = 3000;

/**
 * Connections to one server that are kept for reuse, each with one exchange at a time; the one used last is used first.
 *
 * Not Node's HTTP client, which takes twice the CPU time: an exchange of a few hundred bytes is all overhead.
 */
export class ConnectionPool {
  readonly #dial: Dial;
  readonly #endpoint: Endpoint;
  readonly #maxSockets: number;
  readonly #tunnel: Tunnel | undefined;
  readonly #sockets = new Set<PooledSocket>();
  readonly #idle: PooledSocket[] = [];
  readonly #waiting: Exchange[] = [];
  /** Those whose tunnel is being opened. */
  readonly #opening = new Set<Exchange>();
  #closed = false;

  constructor(dial: Dial, endpoint: Endpoint, maxSockets: number, tunnel?: Tunnel) {
    this.#dial = dial;
    this.#endpoint = endpoint;
    this.#maxSockets = maxSockets;
    this.#tunnel = tunnel;
  }

  send(exchange: Exchange): void {
    const socket = this.#nextIdle();
    if (this.#closed) exchange.fail(new Error('closed'));
    else if (socket) socket.start(exchange);
    else if (this.#isFull()) this.#waiting.push(exchange);
    else this.#open(exchange);
  }

  /** Closes the connections that are idle, so that the next exchange gets a new one. */
  closeIdle(): void {
    for (const socket of this.#idle.splice(0)) socket.destroy();
  }

  /** Closes all connections; exchanges under way fail. */
  close(): void {
    this.#closed = true;
    for (const exchange of [...this.#waiting.splice(0), ...this.#opening]) exchange.fail(new Error('closed'));
    for (const socket of this.#sockets) socket.destroy();
  }

  #open(exchange: Exchange): void {
    const connected = connectTimeout(this.#endpoint, (error) => exchange.fail(error));
    if (this.#tunnel) void this.#openTunnel(this.#tunnel, exchange, connected);
    else this.#connect(exchange, connected);
  }

  async #openTunnel(tunnel: Tunnel, exchange: Exchange, connected: () => void): Promise<void> {
    const opening = new AbortController();
    this.#opening.add(exchange);
    // Until the tunnel is open, the exchange has nothing else that ends with it.
    exchange.assign({ pause() {}, resume() {}, destroy: () => opening.abort() }, false);
    try {
      const socket = await tunnel(exchange.headMs, opening.signal);
      if (exchange.isOver) socket.destroy();
      else this.#connect(exchange, connected, socket);
    } catch (error) {
      exchange.fail(toOpenError(this.#endpoint, error));
    }
    if (exchange.isOver) connected();
    this.#opening.delete(exchange);
    this.#sendWaiting();
  }

  #connect(exchange: Exchange, connected: () => void, tunnel?: Socket): void {
    try {
      const connection = this.#dial(tunnel);
      if (connection === tunnel) connected();
      else connection.once(connection instanceof TLSSocket ? 'secureConnect' : 'connect', connected);
      connection.once('close', connected);
      const socket: PooledSocket = new PooledSocket(connection, this.#endpoint, {
        onFree: () => this.#onFree(socket),
        onClosed: () => this.#onClosed(socket),
        onStale: () => this.closeIdle(),
      });
      this.#sockets.add(socket);
      socket.start(exchange);
    } catch (error) {
      connected();
      tunnel?.destroy();
      exchange.fail(toOpenError(this.#endpoint, error));
    }
  }

  #onFree(socket: PooledSocket): void {
    const next = this.#nextWaiting();
    if (next) socket.start(next);
    else {
      // The last is used first, so those beyond the first few are what only a burst needs.
      socket.closeAfter(this.#idle.length < KEPT ? KEEP_ALIVE_MS : SURPLUS_MS);
      this.#idle.push(socket);
    }
  }

  #onClosed(socket: PooledSocket): void {
    this.#sockets.delete(socket);
    const at = this.#idle.indexOf(socket);
    if (at >= 0) this.#idle.splice(at, 1);
    this.#sendWaiting();
  }

  #isFull(): boolean {
    return this.#sockets.size + this.#opening.size >= this.#maxSockets;
  }

  #sendWaiting(): void {
    while (!this.#isFull()) {
      const next = this.#nextWaiting();
      if (!next) return;
      this.send(next);
    }
  }

  /** Skips those that were destroyed and whose `close` event is still to come. */
  #nextIdle(): PooledSocket | undefined {
    let socket = this.#idle.pop();
    while (socket && !socket.isOpen) socket = this.#idle.pop();
    return socket;
  }

  #nextWaiting(): Exchange | undefined {
    let next = this.#waiting.shift();
    while (next?.isOver) next = this.#waiting.shift();
    return next;
  }
}

interface PoolCallbacks {
  onFree(): void;
  onClosed(): void;
  /** A reused connection broke before an answer began: whatever broke it has broken the idle ones as well. */
  onStale(): void;
}

class PooledSocket implements ExchangeSocket {
  readonly #socket: Socket;
  readonly #endpoint: Endpoint;
  readonly #pool: PoolCallbacks;
  readonly #parser: AnswerParser;
  #exchange: Exchange | undefined;
  #isUsed = false;
  #error: Error | undefined;

  constructor(socket: Socket, endpoint: Endpoint, pool: PoolCallbacks) {
    this.#socket = socket;
    this.#endpoint = endpoint;
    this.#pool = pool;
    this.#parser = new AnswerParser({
      head: (status, retryAfter, text) => this.#begin(status, retryAfter, text),
      data: (bytes) => this.#exchange?.push(bytes),
      end: (reusable) => this.#end(reusable),
    });
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('timeout', () => this.#fail(toIdleTimeout(endpoint, socket.timeout)));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#close());
  }

  get isOpen(): boolean {
    return this.#socket.writable;
  }

  start(exchange: Exchange): void {
    this.#exchange = exchange;
    exchange.assign(this, this.#isUsed);
    this.#isUsed = true;
    this.#socket.setTimeout(exchange.headMs);
    this.#socket.ref();
    this.#socket.write(textOf(exchange.request));
  }

  /** Closes the idle connection after so long, unless another exchange is started. */
  closeAfter(ms: number): void {
    this.#socket.setTimeout(ms);
    // An idle connection must not keep the process alive.
    this.#socket.unref();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  destroy(): void {
    if (this.#exchange?.isReused && this.#exchange.status === 0) this.#pool.onStale();
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
      this.#pool.onFree();
    }
    exchange?.complete();
  }

  #fail(error: Error): void {
    this.#error ??= error;
    this.#socket.destroy();
  }

  #close(): void {
    this.#pool.onClosed();
    if (!this.#error && this.#parser.close()) return;
    this.#exchange?.fail(toConnectError(this.#endpoint, this.#error ?? { code: 'ECONNRESET' }));
  }
}

/** One string, so that it is sent in one packet. */
function textOf({ method, path, headers, body = '' }: Request): string {
  let text = `${method} ${path} HTTP/1.1\r\n`;
  for (const name in headers) text += `${name}: ${headers[name]}\r\n`;
  return `${text}\r\n${body}`;
}
