import { setTimeout as delay } from 'node:timers/promises';
import type { Environment } from '../folders.ts';
import { end, forget, type RecordedProcess, recorded, start } from '../processes/recorded-process.ts';
import type { PodContainer } from './pod.ts';
import { expand, NotConfigured } from './pod-environment.ts';
import { runProbe } from './probe.ts';

/** What a container needs to become a process. */
export interface ContainerSetting {
  readonly dir: string;
  /** The name of its record and log. */
  readonly name: string;
  readonly program: readonly string[];
  readonly host: string;
  readonly restarts: 'Always' | 'OnFailure' | 'Never';
  /** What every process of the pod gets, before the author's own variables. */
  readonly base: Environment;
  /** The author's variables; asked at each start, as Secrets and ConfigMaps change. */
  readonly variables: () => Promise<Record<string, string>>;
  readonly changed: () => void;
}

type State =
  | { readonly waiting: { readonly reason: string; readonly message?: string } }
  | { readonly running: { readonly startedAt: string } }
  | { readonly terminated: Terminated };

interface Terminated {
  readonly exitCode: number;
  readonly reason: 'Completed' | 'Error';
  readonly startedAt: string;
  readonly finishedAt: string;
}

/** Waits between restarts double up to the last; the kubelet's are ten times as long. */
const FIRST_BACKOFF_MS = 1000;
const LAST_BACKOFF_MS = 30_000;

/** One container as a process of this machine: started, watched by its probes, restarted as the pod's policy says. */
export class ContainerProcess {
  readonly spec: PodContainer;
  readonly #setting: ContainerSetting;
  #state: State = { waiting: { reason: 'ContainerCreating' } };
  #lastState: State | undefined;
  #restarts = 0;
  #started = false;
  #ready = false;
  #process: RecordedProcess | undefined;

  constructor(spec: PodContainer, setting: ContainerSetting) {
    this.spec = spec;
    this.#setting = setting;
  }

  get ready(): boolean {
    return this.#ready;
  }

  /** The exit code of a container that will not run again. */
  get exitCode(): number | undefined {
    return 'terminated' in this.#state ? this.#state.terminated.exitCode : undefined;
  }

  /** As the API server wants to read it. */
  get status(): object {
    return {
      name: this.spec.name,
      image: this.spec.image,
      imageID: '',
      ready: this.#ready,
      started: this.#started,
      restartCount: this.#restarts,
      state: this.#state,
      ...(this.#lastState ? { lastState: this.#lastState } : {}),
    };
  }

  /** Runs until the container has ended for good, or until aborted; `stop` ends a process that still runs then. */
  async run(signal: AbortSignal): Promise<void> {
    for (let backoffMs = FIRST_BACKOFF_MS; !signal.aborted; backoffMs = Math.min(backoffMs * 2, LAST_BACKOFF_MS)) {
      const ended = await this.#runOnce(signal);
      if (signal.aborted) return;
      if (ended && !this.#runsAgain(ended)) {
        this.#become({ terminated: ended });
        return;
      }
      if (ended) {
        this.#lastState = { terminated: ended };
        this.#restarts++;
        this.#become({ waiting: { reason: 'CrashLoopBackOff' } });
      }
      await delay(backoffMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** SIGTERM, and SIGKILL after the grace. */
  async stop(graceMs: number): Promise<void> {
    if (!this.#process) return;
    await end(this.#process.identity, graceMs);
    await this.#process.ended;
    forget(this.#setting.dir, this.#setting.name);
  }

  /** undefined: it could not even be started. */
  async #runOnce(signal: AbortSignal): Promise<Terminated | undefined> {
    const process = await this.#start();
    if (!process) return undefined;
    this.#process = process;
    const startedAt = now();
    const over = new AbortController();
    signal.addEventListener('abort', () => over.abort(), { once: true });
    this.#started = !this.spec.startupProbe;
    this.#ready = this.#started && !this.spec.readinessProbe;
    this.#become({ running: { startedAt } });
    const probes = this.#probe(process, over.signal);
    const stopped = new Promise<undefined>((resolve) => {
      over.signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    const ending = await Promise.race([process.ended, stopped]);
    over.abort();
    await probes;
    this.#ready = false;
    if (!ending) return undefined;
    this.#process = undefined;
    this.#started = false;
    forget(this.#setting.dir, this.#setting.name);
    const { exitCode } = ending;
    return { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', startedAt, finishedAt: now() };
  }

  async #start(): Promise<RecordedProcess | undefined> {
    const { dir, name, program, base } = this.#setting;
    try {
      const variables = await this.#setting.variables();
      // The first word of `command` is the image's program, in whose place ours is run.
      const words = [...(this.spec.command ?? []).slice(1), ...(this.spec.args ?? [])];
      const argv = [...program, ...words.map((word) => expand(word, variables))];
      const before = recorded(dir).get(name);
      if (before) await end(before, 0); // left over from a runner that was killed
      return start(dir, { name, argv, env: { ...base, ...variables } });
    } catch (error) {
      if (!(error instanceof NotConfigured)) throw error;
      this.#become({ waiting: { reason: 'CreateContainerConfigError', message: error.message } });
      return undefined;
    }
  }

  async #probe(process: RecordedProcess, signal: AbortSignal): Promise<void> {
    const { startupProbe, readinessProbe, livenessProbe } = this.spec;
    const { host } = this.#setting;
    const kill = () => void end(process.identity, 0);
    if (startupProbe) {
      const up = new AbortController();
      await runProbe(startupProbe, this.spec, host, {
        eager: false,
        signal: AbortSignal.any([signal, up.signal]),
        changed: (healthy) => (healthy ? up.abort() : kill()),
      });
      if (signal.aborted) return;
      this.#started = true;
      this.#setReady(!readinessProbe);
    }
    await Promise.all([
      readinessProbe &&
        runProbe(readinessProbe, this.spec, host, {
          eager: true,
          signal,
          changed: (healthy) => this.#setReady(healthy),
        }),
      livenessProbe &&
        runProbe(livenessProbe, this.spec, host, {
          eager: false,
          signal,
          changed: (healthy) => healthy || kill(),
        }),
    ]);
  }

  #runsAgain({ exitCode }: Terminated): boolean {
    const { restarts } = this.#setting;
    return restarts === 'Always' || (restarts === 'OnFailure' && exitCode !== 0);
  }

  #setReady(ready: boolean): void {
    this.#ready = ready;
    this.#setting.changed();
  }

  #become(state: State): void {
    this.#state = state;
    this.#setting.changed();
  }
}

/** The API server knows seconds only. */
export function now(): string {
  return `${new Date().toISOString().slice(0, 19)}Z`;
}
