import { Agent, request } from 'node:https';

/** Who speaks to which API server. */
export interface Access {
  readonly server: string;
  readonly authority: string;
  readonly token: string;
}

/** As much of an object as the bench looks at. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly resourceVersion?: string;
    readonly uid?: string;
  };
  readonly [field: string]: unknown;
}

export interface Answer {
  readonly status: number;
  /** When the answer began to arrive, on the clock of {@link now}. */
  readonly at: number;
  readonly text: string;
}

/** Milliseconds on the machine's monotonic clock, which all processes share. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/**
 * The bench's own way to the API server. It shares no code with the program under test: a fault of that code must not
 * hide itself.
 */
export class Api {
  readonly access: Access;
  readonly #agent: Agent;

  constructor(access: Access, maxSockets = 64) {
    this.access = access;
    this.#agent = new Agent({ keepAlive: true, maxSockets, ca: access.authority, scheduling: 'lifo' });
  }

  send(method: string, path: string, body?: unknown, contentType = 'application/json'): Promise<Answer> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const sent = request(
        new URL(path, this.access.server),
        { method, agent: this.#agent, headers: headersOf(this.access.token, text, contentType), timeout: 120_000 },
        (answer) => {
          const at = now();
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.on('error', reject);
          answer.on('end', () =>
            resolve({ status: answer.statusCode ?? 0, at, text: Buffer.concat(chunks).toString() }),
          );
        },
      );
      sent.on('timeout', () => sent.destroy(new Error(`${method} ${path}: no answer`)));
      sent.on('error', reject);
      sent.end(text);
    });
  }

  /** Like `send`, and a refusal throws. */
  async call(method: string, path: string, body?: unknown, contentType?: string): Promise<Answer> {
    const answer = await this.send(method, path, body, contentType);
    if (answer.status < 300) return answer;
    throw new Error(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
  }

  close(): void {
    this.#agent.destroy();
  }
}

export function headersOf(token: string, body: string | undefined, contentType: string): Record<string, string> {
  return {
    authorization: `Bearer ${token}`,
    accept: 'application/json',
    'user-agent': 'attune-bench',
    ...(body === undefined ? {} : { 'content-type': contentType, 'content-length': String(Buffer.byteLength(body)) }),
  };
}
