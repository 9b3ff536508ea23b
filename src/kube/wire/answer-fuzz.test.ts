import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { type Answer, answers, randomFrom, readStrictly } from '../../../test/support/http-answers.ts';
import { rounds } from '../../../test/support/soak.ts';
import { ConnectionPool } from './connection-pool.ts';
import { Exchange } from './exchange.ts';
import { Turns } from './turns.ts';

// 100,000 answers in `npm test`, each world with the seed of its number; a failure names the seed.
const WORLDS = rounds(1000, 20_000);
const EXCHANGES = 100;
const MAX_OPEN = 4;

/** A connection whose other end sends what the world says, when the world says it. */
class ScriptedSocket extends EventEmitter {
  timeout = 0;
  writable = true;
  /** What the server has still to send, in its pieces. */
  readonly unsent: Buffer[] = [];
  current: Sent | undefined;
  readonly #requested: (path: string, socket: ScriptedSocket) => void;

  constructor(requested: (path: string, socket: ScriptedSocket) => void) {
    super();
    this.#requested = requested;
  }

  write(text: string): void {
    this.#requested(/ \/(\d+) /.exec(text)?.[1] ?? '', this);
  }

  setTimeout(ms: number): void {
    this.timeout = ms;
  }

  /** As of a real one, nothing is read any more, and `close` comes a moment later. */
  destroy(): void {
    if (!this.writable) return;
    this.writable = false;
    queueMicrotask(() => this.emit('close'));
  }

  setNoDelay(): void {}
  ref(): void {}
  unref(): void {}
  pause(): void {}
  resume(): void {}
}

/** An exchange that the world has sent, and what the server has said to it so far. */
interface Sent {
  readonly id: number;
  readonly exchange: Exchange;
  readonly answer: Answer;
  readonly received: Buffer[];
  isClosed: boolean;
  /** The body as it was read; an error where there is none. */
  outcome: Buffer | Error | undefined;
}

/** A pool, a server with answers in all states of decay, and what must never happen between them. */
class World {
  reuses = 0;
  readonly #random: () => number;
  readonly #newAnswer: (id: number) => Answer;
  readonly #sockets = new Set<ScriptedSocket>();
  readonly #sent: Sent[] = [];
  readonly #pool: ConnectionPool;
  #violation: Error | undefined;

  constructor(seed: number) {
    this.#random = randomFrom(seed);
    this.#newAnswer = answers(this.#random);
    const dial = () => {
      const socket = new ScriptedSocket((path, on) => this.#requested(Number(path), on));
      this.#sockets.add(socket);
      return socket as unknown as Socket;
    };
    this.#pool = new ConnectionPool(dial, { name: 'api.test', trustHint: '' }, 1 + this.#below(3));
  }

  async run(): Promise<void> {
    while (this.#sent.length < EXCHANGES || this.#sent.some(({ outcome }) => outcome === undefined)) {
      const isOpen = ({ exchange }: Sent): boolean => !exchange.isOver;
      const open = this.#sent.slice(-3 * MAX_OPEN).filter(isOpen).length;
      if (this.#sent.length < EXCHANGES && open < MAX_OPEN && this.#below(3) === 0) this.#send();
      else if (this.#below(200) === 0) this.#sent.findLast(isOpen)?.exchange.fail(new Error('called off'));
      else this.#serverSpeaks();
      if (this.#below(2) === 0) await undefined;
      if (this.#violation) throw this.#violation;
    }
    this.#pool.close();
    for (const sent of this.#sent) this.#judge(sent);
    if (this.#violation) throw this.#violation;
  }

  #send(): void {
    const id = this.#sent.length;
    const request = { method: 'GET', path: `/${id}`, headers: {}, body: undefined };
    const exchange = new Exchange(request, 1000, 1000, true);
    const sent: Sent = {
      id,
      exchange,
      answer: this.#newAnswer(id),
      received: [],
      isClosed: false,
      outcome: undefined,
    };
    this.#sent.push(sent);
    const read = this.#below(3) === 0 ? piecesOf : bodyOf;
    exchange.answered.then(read).then(
      (body) => {
        sent.outcome = body;
      },
      (error: Error) => {
        sent.outcome = error;
      },
    );
    this.#pool.send(exchange);
  }

  /** A request arrives on a connection: whatever it carried before must have ended well. */
  #requested(id: number, socket: ScriptedSocket): void {
    const before = socket.current;
    const sent = this.#sent[id] as Sent;
    if (before) {
      this.reuses += 1;
      const read = readStrictly(Buffer.concat(before.received).toString('latin1'));
      const isProper = read?.reusable && read.rest === '';
      if (!isProper || before.outcome instanceof Error) this.#fail(before, `its connection was used again, for ${id}`);
    }
    if (!socket.writable) this.#fail(sent, 'it was sent on a connection that is closed');
    socket.current = sent;
    socket.unsent.push(...sent.answer.pieces);
  }

  #serverSpeaks(): void {
    const sockets = [...this.#sockets].filter(({ current }) => current);
    const socket = sockets[this.#below(sockets.length)];
    if (!socket) return;
    const sent = socket.current;
    const piece = socket.unsent.shift();
    if (!socket.writable) this.#sockets.delete(socket);
    else if (!sent || sent.exchange.isOver) this.#speaksUnasked(socket, piece);
    else if (piece) {
      // A copy: who reads it overwrites it.
      sent.received.push(piece);
      socket.emit('data', Buffer.from(piece));
      if (socket.unsent.length === 0) this.#mustBeOver(sent);
    } else this.#ends(socket, sent);
  }

  /** Bytes on a connection that waits for nothing make it useless. */
  #speaksUnasked(socket: ScriptedSocket, piece: Buffer | undefined): void {
    if (!piece) return;
    socket.emit('data', Buffer.from(piece));
    if (socket.writable)
      this.#fail(socket.current as Sent, 'its connection is kept in spite of the bytes that followed');
  }

  /** The server has said all, and the answer is not at its end. */
  #ends(socket: ScriptedSocket, sent: Sent): void {
    const how = this.#below(3);
    if (how === 0) socket.emit('error', Object.assign(new Error(), { code: 'ECONNRESET' }));
    else if (how === 1) socket.emit('timeout');
    else sent.isClosed = true;
    socket.destroy();
  }

  #mustBeOver(sent: Sent): void {
    const read = readStrictly(Buffer.concat(sent.received).toString('latin1'));
    if (read && !sent.exchange.isOver) this.#fail(sent, 'the answer is complete, and the exchange is not');
  }

  #judge(sent: Sent): void {
    const { id, exchange, received, isClosed, outcome } = sent;
    const read = readStrictly(Buffer.concat(received).toString('latin1'), isClosed);
    if (outcome instanceof Error) {
      if (read && outcome.message !== 'called off') this.#fail(sent, `a proper answer failed: ${outcome.message}`);
      return;
    }
    const body = outcome?.toString('latin1') ?? '';
    if (!read) this.#fail(sent, 'an answer that is none was taken for one');
    else if (read.status !== exchange.status || read.body !== body)
      this.#fail(sent, `read as ${exchange.status} ${body}`);
    for (const [tag] of `${body} ${exchange.retryAfter} ${exchange.date}`.matchAll(/#[a-z0-9]{9}#/g)) {
      const from = this.#sent.find(({ answer }) => answer.tag === tag)?.id ?? id;
      if (from !== id) this.#fail(sent, `it has bytes of ${from}`);
    }
  }

  /** Kept, and thrown by `run`: where it is called from, the pool would take it for an error of the connection. */
  #fail({ id, answer, received }: Sent, why: string): void {
    const texts = [Buffer.concat(answer.pieces), ...received].map((bytes) => JSON.stringify(bytes.toString('latin1')));
    this.#violation ??= new Error(`exchange ${id}: ${why}\nanswer ${texts.join('\n  received ')}`);
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }
}

const limits = { maxBytes: 1024 * 1024, tooLong: () => new Error('too long'), turns: new Turns(1) };
const bodyOf = (exchange: Exchange): Promise<Buffer> => exchange.body(limits);

async function piecesOf(exchange: Exchange): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of exchange.pieces()) pieces.push(piece);
  return Buffer.concat(pieces);
}

test(`${WORLDS * EXCHANGES} answers in all states of decay: no byte in another exchange, no connection used again after an error`, {
  timeout: 3_600_000,
}, async () => {
  let reuses = 0;
  for (let seed = 1; seed <= WORLDS; seed += 1) {
    const world = new World(seed);
    await world.run().catch((error: Error) => {
      throw new Error(`seed ${seed}: ${error.message}`, { cause: error });
    });
    reuses += world.reuses;
  }
  // Else nothing was shown.
  expect(reuses).toBeGreaterThan((WORLDS * EXCHANGES) / 10);
});
