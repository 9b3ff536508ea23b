import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, type WriteStream } from 'node:fs';
import { now } from './api.ts';
import { cpuMsOf, type Memory, memoryOf } from './process-figures.ts';

/** A program under test while it runs, seen from outside. */
export class Program {
  readonly pid: number;
  /** On the clock of `now`. */
  readonly startedAt: number;
  readonly #child: ChildProcess;
  readonly #log: WriteStream;
  readonly #ended: Promise<string>;
  #over: string | undefined;
  #asked = false;

  private constructor(child: ChildProcess, log: WriteStream, startedAt: number) {
    this.#child = child;
    this.#log = log;
    this.pid = child.pid ?? 0;
    this.startedAt = startedAt;
    this.#ended = new Promise((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('close', (code, signal) => resolve(`ended with ${signal ?? code}`));
    });
    void this.#ended.then((how) => {
      this.#over = how;
      this.#log.end();
    });
  }

  /** `command` is for the shell, and is replaced by what it starts: an assignment needs `env A=b` before it. */
  static start(command: string, env: Readonly<Record<string, string>>, logFile: string): Program {
    const log = createWriteStream(logFile, { flags: 'a' });
    const startedAt = now();
    const child = spawn('/bin/sh', ['-c', `exec ${command}`], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    return new Program(child, log, startedAt);
  }

  /** Throws if it has ended unasked: whatever is measured afterwards would be about nothing. */
  check(): void {
    if (this.#over !== undefined && !this.#asked) throw new Error(`the program ${this.#over}`);
  }

  cpuMs(): number {
    this.check();
    return cpuMsOf(this.pid);
  }

  memory(): Memory {
    this.check();
    return memoryOf(this.pid);
  }

  async says(text: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#child.stdout?.on('data', (chunk: Buffer) => {
        if (chunk.toString().includes(text)) resolve();
      });
      void this.#ended.then((how) => reject(new Error(`the program ${how} before it said ${text}`)));
    });
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    this.#asked = true;
    this.#child.kill(signal);
    const late = setTimeout(() => this.#child.kill('SIGKILL'), 10_000);
    await this.#ended;
    clearTimeout(late);
  }
}
