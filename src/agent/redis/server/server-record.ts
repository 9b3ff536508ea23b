import type { Log } from '../../../telemetry/log.ts';
import { StateFile } from '../../state/state-file.ts';
import { lives, type Seen } from './processes/process-table.ts';

interface Noted {
  /** A server is about to be started: it may live though nothing else is known of it. */
  readonly starting?: boolean;
  readonly server?: Seen;
  /** The one signal that it was sent. */
  readonly signal?: string;
}

/**
 * What the next agent has to know of the server that this one has started. A disk that is full is no reason to leave a
 * server running, or not to start one: it is told, and that is all.
 */
export class ServerRecord {
  readonly #file: StateFile<Noted>;
  readonly #log: Log;

  constructor(stateDir: string, log: Log) {
    this.#file = new StateFile<Noted>(stateDir, 'server', {});
    this.#log = log;
  }

  /** An agent was killed while it started a server. */
  get wasStarting(): boolean {
    return this.#file.value.starting === true;
  }

  /** The server that an earlier agent has started, if it lives. */
  get living(): Seen | undefined {
    const { server } = this.#file.value;
    return server && lives(server) ? server : undefined;
  }

  wasSignalled({ pid, startedAt }: Seen): boolean {
    const { server, signal } = this.#file.value;
    return signal !== undefined && server?.pid === pid && server.startedAt === startedAt;
  }

  starting = (): Promise<void> => this.#note({ starting: true });

  runs(server: Seen): Promise<void> {
    return this.wasSignalled(server) ? Promise.resolve() : this.#note({ server });
  }

  signalled = (server: Seen, signal: string): Promise<void> => this.#note({ server, signal });

  nothingRuns = (): Promise<void> => this.#note({});

  async #note(noted: Noted): Promise<void> {
    try {
      await this.#file.save(noted);
    } catch (error) {
      this.#log.warn('what the next agent is to know of redis-server could not be kept', {
        error: error instanceof Error ? error.message : String(error),
      });
    }
  }
}
