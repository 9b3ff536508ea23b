import type { Agent } from 'node:http';
import { TLSSocket } from 'node:tls';
import { http, https } from '../../runtime/node-http.ts';
import { connectTimeout, type Endpoint, toConnectError, toIdleTimeout, toOpenError } from './connect-error.ts';
import type { Dispatcher, Exchange } from './exchange.ts';

/** Sends exchanges with Node's HTTP client and an agent of its own, for connections that go through a proxy. */
export class AgentDispatcher implements Dispatcher {
  readonly #agent: Agent;
  readonly #endpoint: Endpoint;
  readonly #maxRequests: number;
  readonly #target: { readonly host: string; readonly port: string };
  readonly #newRequest: typeof http.request;
  readonly #waiting: Exchange[] = [];
  #requests = 0;

  constructor({ protocol, hostname, port }: URL, agent: Agent, endpoint: Endpoint, maxRequests: number) {
    const secure = protocol === 'https:';
    this.#agent = agent;
    this.#endpoint = endpoint;
    this.#maxRequests = maxRequests;
    this.#newRequest = secure ? https.request : http.request;
    this.#target = { host: hostname.replace(/^\[|\]$/g, ''), port: port || (secure ? '443' : '80') };
  }

  send(exchange: Exchange): void {
    if (this.#requests >= this.#maxRequests) this.#waiting.push(exchange);
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
      this.#request(exchange);
    } catch (error) {
      exchange.fail(toOpenError(this.#endpoint, error));
    }
  }

  #request(exchange: Exchange): void {
    const { method, path, headers, body } = exchange.request;
    const options = { ...this.#target, agent: this.#agent, timeout: exchange.headMs, method, path, headers };
    const fail = (error: Error): void => exchange.fail(toConnectError(this.#endpoint, error));
    const request = this.#newRequest(options, (answer) => {
      exchange.assign(answer, request.reusedSocket);
      answer.on('data', (piece: Buffer) => exchange.push(piece));
      answer.on('error', fail);
      answer.on('end', () => exchange.complete());
      request.setTimeout(exchange.idleMs);
      const { 'retry-after': retryAfter, date } = answer.headers;
      exchange.begin(answer.statusCode ?? 0, retryAfter, exchange.wantsDate ? date : undefined);
    });
    this.#requests += 1;
    const destroy = () => {
      if (exchange.isReused && exchange.status === 0) this.closeIdle();
      request.destroy();
    };
    exchange.assign({ pause() {}, resume() {}, destroy }, request.reusedSocket);
    const connected = connectTimeout(this.#endpoint, fail);
    request.on('socket', (socket) => {
      if (socket instanceof TLSSocket && !request.reusedSocket) socket.once('secureConnect', connected);
      else connected();
      // Node's parser has handed us copies: nothing of a Secret is to be left in the buffer.
      socket.on('data', erase);
      request.on('close', () => socket.off('data', erase));
    });
    request.on('timeout', () => exchange.fail(toIdleTimeout(this.#endpoint, request.socket?.timeout)));
    request.on('error', fail);
    request.on('close', () => {
      connected();
      this.#requests -= 1;
      // The agent gets its connection back after this event.
      process.nextTick(() => this.#startWaiting());
    });
    request.end(body);
  }

  #startWaiting(): void {
    while (this.#requests < this.#maxRequests) {
      const next = this.#waiting.shift();
      if (!next) return;
      if (!next.isOver) this.#start(next);
    }
  }
}

const erase = (chunk: Buffer): void => void chunk.fill(0);
