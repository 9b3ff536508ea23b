import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Api } from './api.ts';

/** Calls by "verb resource", for example "patch deployments". */
export type Calls = Readonly<Record<string, number>>;

interface AuditLine {
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string };
}

/**
 * Counts the calls of one user. A call has several lines, one for each stage: a watch counts when it begins, because it
 * may not have ended, everything else when it has ended.
 */
export function countCalls(lines: Iterable<string>, user: string): Calls {
  const calls: Record<string, number> = {};
  for (const line of lines) {
    if (!line.includes(user)) continue;
    const entry = JSON.parse(line) as AuditLine;
    if (entry.user.username !== user) continue;
    if (entry.stage !== (entry.verb === 'watch' ? 'ResponseStarted' : 'ResponseComplete')) continue;
    const call = `${entry.verb} ${resourceOf(entry)}`;
    calls[call] = (calls[call] ?? 0) + 1;
  }
  return calls;
}

function resourceOf({ objectRef, requestURI }: AuditLine): string {
  if (!objectRef?.resource) return new URL(requestURI, 'https://api').pathname;
  return objectRef.subresource ? `${objectRef.resource}/${objectRef.subresource}` : objectRef.resource;
}

/** How often a verb was used, over all resources but `except`. */
export function total(calls: Calls, verb: string, except?: string): number {
  let sum = 0;
  for (const [call, count] of Object.entries(calls)) {
    const [itsVerb, resource] = call.split(' ');
    if (itsVerb === verb && resource !== except) sum += count;
  }
  return sum;
}

export function addCalls(parts: readonly { readonly calls: Calls }[]): Calls {
  const added: Record<string, number> = {};
  for (const { calls } of parts) {
    for (const [call, count] of Object.entries(calls)) added[call] = (added[call] ?? 0) + count;
  }
  return added;
}

/** Reads what the API server adds to its audit log, also when it begins a new file. */
export class AuditLog {
  readonly #path: string;
  readonly #api: Api;
  #file: number;
  #position: number;
  #rest = '';

  /** Begins at the log's present end. */
  constructor(path: string, api: Api) {
    this.#path = path;
    this.#api = api;
    this.#file = openSync(path, 'r');
    this.#position = fstatSync(this.#file).size;
  }

  /** All lines of calls that have ended by now, since the last time. */
  async lines(): Promise<string[]> {
    const marker = `/version?bench=${process.hrtime.bigint()}`;
    await this.#api.call('GET', marker);
    const lines: string[] = [];
    for (let left = 400; left > 0; left--) {
      lines.push(...this.#read());
      if (lines.some((line) => line.includes(marker))) return lines;
      await delay(10);
    }
    throw new Error('the audit log does not show a call of our own');
  }

  close(): void {
    closeSync(this.#file);
  }

  #read(): string[] {
    let text = this.#rest + this.#drain();
    if (statSync(this.#path).ino !== fstatSync(this.#file).ino) {
      text += this.#drain();
      closeSync(this.#file);
      this.#file = openSync(this.#path, 'r');
      this.#position = 0;
      text += this.#drain();
    }
    const lines = text.split('\n');
    this.#rest = lines.pop() ?? '';
    return lines;
  }

  #drain(): string {
    const parts: Buffer[] = [];
    for (;;) {
      const part = Buffer.allocUnsafe(1 << 20);
      const bytes = readSync(this.#file, part, 0, part.length, this.#position);
      if (bytes === 0) return Buffer.concat(parts).toString('latin1');
      this.#position += bytes;
      parts.push(part.subarray(0, bytes));
    }
  }
}
