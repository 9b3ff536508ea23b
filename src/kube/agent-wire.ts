import type { Agent } from 'node:http';
import { http, https } from '../runtime/node-http.ts';
import { type Exchange, Silence, type Wire } from './exchange.ts';

/** Goes the way that a Node agent knows, through a proxy for example. */
export class AgentWire implements Wire {
  readonly #agent: Agent;
  readonly #target: { readonly host: string; readonly port: string };
  readonly #request: typeof http.request;

  constructor({ protocol, hostname, port }: URL, agent: Agent) {
    const secure = protocol === 'https:';
    this.#agent = agent;
    this.#request = secure ? https.request : http.request;
    this.#target = { host: hostname.replace(/^\[|\]$/g, ''), port: port || (secure ? '443' : '80') };
  }

  send(exchange: Exchange): void {
    const { method, path, headers, body } = exchange.request;
    const options = { ...this.#target, agent: this.#agent, timeout: exchange.headMs, method, path, headers };
    const request = this.#request(options, (answer) => {
      exchange.carriedBy(answer, request.reusedSocket);
      request.setTimeout(exchange.idleMs);
      answer.on('data', (piece: Buffer) => exchange.push(piece));
      answer.on('error', (error) => exchange.breakOff(error));
      answer.on('end', () => exchange.complete());
      exchange.begin(answer.statusCode ?? 0, answer.headers['retry-after']);
    });
    const destroy = () => {
      if (exchange.isReused && exchange.status === 0) this.forgetIdle();
      request.destroy();
    };
    exchange.carriedBy({ pause() {}, resume() {}, destroy }, request.reusedSocket);
    request.on('timeout', () => exchange.breakOff(new Silence('silent')));
    request.on('error', (error) => exchange.breakOff(error));
    request.end(body);
  }

  forgetIdle(): void {
    for (const sockets of Object.values(this.#agent.freeSockets)) {
      for (const socket of sockets ?? []) socket.destroy();
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}
