import { statfsSync } from 'node:fs';
import type { Environment } from '../folders.ts';
import { type Daemon, startDaemon, terminate } from '../processes/daemon.ts';
import { lastLines, logFile } from '../processes/process-logs.ts';
import type { Say } from '../progress.ts';
import { type ControlPlaneComponent, type ControlPlaneSettings, commandLine } from './control-plane.ts';

/** A component has ended although nobody ended it. */
export class ComponentEnded extends Error {
  readonly portTaken: boolean;

  constructor(dir: string, component: string, how: string) {
    const lines = lastLines(dir, component);
    const file = logFile(dir, component);
    const log = lines.map((line) => `\n    ${line}`).join('');
    const why = lines.length > 0 ? `the last lines of ${file}:${log}` : `${file} is empty`;
    super(`${component} ${how}; ${why}${fullDiskNote(dir)}`);
    this.portTaken = lines.some((line) => line.includes('address already in use'));
  }
}

/** On a full disk programs end without being able to log why. */
function fullDiskNote(dir: string): string {
  try {
    const { blocks, bavail } = statfsSync(dir);
    return blocks > 0 && bavail === 0 ? `\nno space is left on the disk of ${dir}` : '';
  } catch {
    return ''; // the folder has been removed meanwhile
  }
}

/** The running components of one sandbox. */
export class Components {
  readonly #running = new Map<ControlPlaneComponent, Daemon>();
  readonly #settings: ControlPlaneSettings;
  readonly #env: Environment;
  readonly #say: Say;
  /** Set while the sandbox starts: aborted when a component ends. Later that is only reported. */
  #starting: AbortController | undefined;

  constructor(settings: ControlPlaneSettings, env: Environment, say: Say) {
    this.#settings = settings;
    // No other variable of the user may change what a component does.
    this.#env = { PATH: env['PATH'], HOME: settings.dir, TMPDIR: env['TMPDIR'] };
    this.#say = say;
  }

  start(component: ControlPlaneComponent): void {
    const { dir } = this.#settings;
    const argv = commandLine(component, this.#settings);
    const daemon = startDaemon(dir, { name: component, argv, env: this.#env });
    this.#running.set(component, daemon);
    void daemon.ended.then(({ description }) => {
      if (this.#running.get(component) !== daemon) return;
      this.#running.delete(component);
      const error = new ComponentEnded(dir, component, description);
      if (this.#starting) this.#starting.abort(error);
      else this.#say(error.message);
    });
  }

  /** Runs `startUp`; stops it when a component ends, or when `caller` is aborted. */
  async duringStartUp(caller: AbortSignal | undefined, startUp: (signal: AbortSignal) => Promise<void>): Promise<void> {
    this.#starting = new AbortController();
    const signal = AbortSignal.any([this.#starting.signal, ...(caller ? [caller] : [])]);
    try {
      await startUp(signal);
      signal.throwIfAborted();
    } catch (error) {
      this.expectEnd();
      throw signal.aborted ? signal.reason : error;
    } finally {
      this.#starting = undefined;
    }
  }

  async kill(component: ControlPlaneComponent): Promise<void> {
    const daemon = this.#running.get(component);
    if (!daemon) throw new Error(`${component} does not run`);
    this.#running.delete(component);
    await terminate(daemon.identity, 0);
    await daemon.ended;
  }

  /** From now on the end of a component is not reported. */
  expectEnd(): void {
    this.#running.clear();
  }

  detach(): void {
    for (const daemon of this.#running.values()) daemon.detach();
  }
}
