import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export type Reply = string | number | null | readonly Reply[];

/** Redis has answered with an error. */
export class Refusal extends Error {}

interface Parsed {
  readonly value: Reply | Refusal;
  /** Where the next reply begins. */
  readonly end: number;
}

/**
 * The bench's own connection to a Redis, which shares no code with the agent. It counts what it sends: what a Redis has
 * carried out beyond that, others have sent.
 */
export class Resp {
  readonly #socket: Socket;
  readonly #waiting: PromiseWithResolvers<Reply>[] = [];
  #rest: Buffer = Buffer.alloc(0);
  #sent = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('close', () => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error('Redis has closed the connection'));
    });
    socket.on('error', () => {});
  }

  static async open(path: string): Promise<Resp> {
    const socket = connect(path);
    await once(socket, 'connect');
    return new Resp(socket);
  }

  get sent(): number {
    return this.#sent;
  }

  send(...words: readonly string[]): Promise<Reply> {
    this.#sent += 1;
    const answer = Promise.withResolvers<Reply>();
    this.#waiting.push(answer);
    const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    this.#socket.write(`*${words.length}\r\n${parts.join('')}`);
    return answer.promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (let parsed = parse(this.#rest, 0); parsed; parsed = parse(this.#rest, 0)) {
      this.#rest = this.#rest.subarray(parsed.end);
      const answer = this.#waiting.shift();
      if (parsed.value instanceof Refusal) answer?.reject(parsed.value);
      else answer?.resolve(parsed.value);
    }
  }
}

/** The reply that begins here; undefined while some of it is missing. */
export function parse(bytes: Buffer, start: number): Parsed | undefined {
  const line = bytes.indexOf('\r\n', start);
  if (line === -1) return undefined;
  const text = bytes.toString('utf8', start + 1, line);
  const end = line + 2;
  const kind = String.fromCharCode(bytes[start] ?? 0);
  if (kind === '+') return { value: text, end };
  if (kind === '-') return { value: new Refusal(text), end };
  if (kind === ':') return { value: Number(text), end };
  if (kind === '$') return parseText(bytes, Number(text), end);
  if (kind === '*') return parseList(bytes, Number(text), end);
  throw new Error(`not a reply of Redis: ${kind}${text}`);
}

function parseText(bytes: Buffer, length: number, start: number): Parsed | undefined {
  if (length === -1) return { value: null, end: start };
  const end = start + length + 2;
  return end > bytes.length ? undefined : { value: bytes.toString('utf8', start, end - 2), end };
}

function parseList(bytes: Buffer, length: number, start: number): Parsed | undefined {
  if (length === -1) return { value: null, end: start };
  const values: Reply[] = [];
  let end = start;
  while (values.length < length) {
    const item = parse(bytes, end);
    if (!item) return undefined;
    end = item.end;
    if (item.value instanceof Refusal) return { value: item.value, end };
    values.push(item.value);
  }
  return { value: values, end };
}
