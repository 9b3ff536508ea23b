import { statfsSync } from 'node:fs';
import type { Progress } from '../binaries/release.ts';
import type { Environment } from '../folders.ts';
import { end, lastLines, logFile, type RecordedProcess, start } from '../processes/recorded-process.ts';
import { type ControlPlaneComponent, type ControlPlaneSettings, commandLine } from './control-plane.ts';

/** A component has ended that should not have. */
export class ComponentEnded extends Error {
  readonly portTaken: boolean;

  constructor(dir: string, component: string, how: string) {
    const lines = lastLines(dir, component);
    const log = lines.map((line) => `\n    ${line}`).join('');
    const file = logFile(dir, component);
    super(
      `${component} ${how}; ${lines.length > 0 ? `the last lines of ${file}:${log}` : `${file} is empty`}${full(dir)}`,
    );
    this.portTaken = lines.some((line) => line.includes('address already in use'));
  }
}

/** A full disk is the cause of much that no log can tell. */
function full(dir: string): string {
  try {
    const { blocks, bavail } = statfsSync(dir);
    return blocks > 0 && bavail === 0 ? `\nno space is left on the disk of ${dir}` : '';
  } catch {
    return ''; // somebody has cleared it away meanwhile
  }
}

/** The processes of one sandbox, and what to do when one of them ends unasked. */
export class Components {
  readonly #processes = new Map<ControlPlaneComponent, RecordedProcess>();
  readonly #settings: ControlPlaneSettings;
  readonly #env: Environment;
  readonly #dir: string;
  /** Told when a component ends unasked: by default whoever reads the progress. */
  #ended: (error: ComponentEnded) => void;
  readonly #progress: (error: ComponentEnded) => void;

  constructor(dir: string, settings: ControlPlaneSettings, env: Environment, progress: Progress) {
    this.#dir = dir;
    this.#settings = settings;
    // Nothing of the caller's settings may change a component's behaviour.
    this.#env = { PATH: env['PATH'], HOME: dir, TMPDIR: env['TMPDIR'] };
    this.#progress = (error) => progress(error.message);
    this.#ended = this.#progress;
  }

  start(component: ControlPlaneComponent): void {
    const argv = commandLine(component, this.#settings);
    const process = start(this.#dir, { name: component, argv, env: this.#env });
    this.#processes.set(component, process);
    void process.ended.then(({ words }) => {
      if (this.#processes.get(component) !== process) return;
      this.#processes.delete(component);
      this.#ended(new ComponentEnded(this.#dir, component, words));
    });
  }

  /** Runs `work`, and breaks it off when a component ends or `outer` says so. */
  async during(outer: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const ended = new AbortController();
    this.#ended = (error) => ended.abort(error);
    const signal = outer ? AbortSignal.any([outer, ended.signal]) : ended.signal;
    try {
      await work(signal);
      signal.throwIfAborted();
    } catch (error) {
      this.dismiss();
      throw signal.aborted ? signal.reason : error;
    }
    this.#ended = this.#progress;
  }

  async kill(component: ControlPlaneComponent): Promise<void> {
    const process = this.#processes.get(component);
    if (!process) throw new Error(`${component} does not run`);
    this.#processes.delete(component);
    await end(process.identity, 0);
    await process.ended;
  }

  /** From now on nobody is surprised when a component ends. */
  dismiss(): void {
    this.#processes.clear();
  }

  release(): void {
    for (const process of this.#processes.values()) process.release();
  }
}
