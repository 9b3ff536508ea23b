import type { Say, ShowStatus } from '../../sandbox/progress.ts';
import type { Io } from '../terminal/io.ts';
import { type Layout, layoutFor } from '../terminal/layout.ts';
import { type Paint, painter } from '../terminal/table.ts';
import { whileWaiting } from '../terminal/waiting-line.ts';

const INDENT = '   ';

/** What a tour prints: numbered steps, what is done in each, and how long it took. */
export class TourPage {
  protected readonly io: Io;
  protected readonly page: Layout;
  protected readonly paint: Paint;
  readonly #began = performance.now();
  #stepBegan = this.#began;
  #step = 0;

  constructor(io: Io) {
    this.io = io;
    this.page = layoutFor(io.terminal, io.env);
    this.paint = painter(this.page);
  }

  title(text: string): void {
    this.#step += 1;
    this.#stepBegan = performance.now();
    this.say(`\n${this.paint('bold', `${this.#step}. ${text}`)}`);
  }

  detail(text: string): void {
    this.say(this.#detail(text));
  }

  #detail(text: string): string {
    return `${INDENT}${this.paint('dim', text)}`;
  }

  /** Runs long work with a status line, which is rewritten below the lines that `say` prints. */
  async waiting<T>(work: (say: Say, showStatus: ShowStatus) => Promise<T>): Promise<T> {
    const { stdout: write, terminal, env } = this.io;
    return await whileWaiting({ write, terminal, env, indent: INDENT }, (line) =>
      work((text) => line.say(this.#detail(text)), line.now),
    );
  }

  done(text: string): void {
    this.say(`   ${this.paint('green', '✓')} ${text} ${this.paint('dim', `after ${since(this.#stepBegan)}`)}`);
  }

  say(text: string): void {
    this.io.stdout(`${text}\n`);
  }

  finish(): void {
    this.say(`\n${this.paint('bold', `The tour took ${since(this.#began)}.`)}`);
  }

  /** Prints commands to try next, which work as they are printed; one without words goes with the one before. */
  protected tellCommands(commands: readonly (readonly [why: string, command: string])[]): void {
    this.say('\nTry next, in another terminal:\n');
    for (const [why, command] of commands) {
      this.say(`${why === '' ? '' : `  ${why}\n`}    ${this.paint('cyan', command)}`);
    }
  }
}

const since = (began: number): string => `${((performance.now() - began) / 1000).toFixed(1)} s`;
