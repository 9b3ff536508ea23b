import type { Agent } from 'node:http';
import { TLSSocket } from 'node:tls';
import { http, https } from '../../runtime/node-http.ts';
import { connectTimeout, type Endpoint, toConnectError, toIdleTimeout, toOpenError } from './connect-error.ts';
import type { Dispatcher, Exchange } from './exchange.ts';

/** Goes the way that a Node agent knows, through a proxy for example. */
export class AgentDispatcher implements Dispatcher {
  readonly #agent: Agent;
  readonly #endpoint: Endpoint;
  readonly #maxSockets: number;
  readonly #target: { readonly host: string; readonly port: string };
  readonly #request: typeof http.request;
  readonly #waiting: Exchange[] = [];
  #lines = 0;

  constructor({ protocol, hostname, port }: URL, agent: Agent, endpoint: Endpoint, maxSockets: number) {
    const secure = protocol === 'https:';
    this.#agent = agent;
    this.#endpoint = endpoint;
    this.#maxSockets = maxSockets;
    this.#request = secure ? https.request : http.request;
    this.#target = { host: hostname.replace(/^\[|\]$/g, ''), port: port || (secure ? '443' : '80') };
  }

  send(exchange: Exchange): void {
    if (this.#lines >= this.#maxSockets) this.#waiting.push(exchange);
    else this.#start(exchange);
  }

  closeIdle(): void {
    for (const sockets of Object.values(this.#agent.freeSockets)) {
      for (const socket of sockets ?? []) socket.destroy();
    }
  }

  close(): void {
    for (const exchange of this.#waiting.splice(0)) exchange.fail(new Error('closed'));
    this.#agent.destroy();
  }

  #start(exchange: Exchange): void {
    try {
      this.#carry(exchange);
    } catch (error) {
      exchange.fail(toOpenError(this.#endpoint, error));
    }
  }

  #carry(exchange: Exchange): void {
    const { method, path, headers, body } = exchange.request;
    const options = { ...this.#target, agent: this.#agent, timeout: exchange.headMs, method, path, headers };
    const fail = (error: Error): void => exchange.fail(toConnectError(this.#endpoint, error));
    const request = this.#request(options, (answer) => {
      exchange.assign(answer, request.reusedSocket);
      answer.on('data', (piece: Buffer) => exchange.push(piece));
      answer.on('error', fail);
      answer.on('end', () => exchange.complete());
      request.setTimeout(exchange.idleMs);
      const { 'retry-after': retryAfter, date } = answer.headers;
      exchange.begin(answer.statusCode ?? 0, retryAfter, exchange.wantsDate ? date : undefined);
    });
    this.#lines += 1;
    const destroy = () => {
      if (exchange.isReused && exchange.status === 0) this.closeIdle();
      request.destroy();
    };
    exchange.assign({ pause() {}, resume() {}, destroy }, request.reusedSocket);
    const connected = connectTimeout(this.#endpoint, fail);
    request.on('socket', (socket) => {
      if (socket instanceof TLSSocket && !request.reusedSocket) socket.once('secureConnect', connected);
      else connected();
      // Behind Node's own parser, which hands copies to us.
      socket.on('data', erase);
      request.on('close', () => socket.off('data', erase));
    });
    request.on('timeout', () => exchange.fail(toIdleTimeout(this.#endpoint, request.socket?.timeout)));
    request.on('error', fail);
    request.on('close', () => {
      connected();
      this.#lines -= 1;
      // The agent has the connection back in a moment.
      process.nextTick(() => this.#startWaiting());
    });
    request.end(body);
  }

  #startWaiting(): void {
    while (this.#lines < this.#maxSockets) {
      const next = this.#waiting.shift();
      if (!next) return;
      if (!next.isOver) this.#start(next);
    }
  }
}

const erase = (chunk: Buffer): void => void chunk.fill(0);
