import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Environment } from '../folders.ts';
import { type Daemon, daemonsIn, removePidFile, startDaemon, terminate } from '../processes/daemon.ts';
import type { PodContainer } from './pod.ts';
import { ContainerConfigError, expand } from './pod-environment.ts';
import { runProbe } from './probe.ts';

export interface ContainerOptions {
  readonly dir: string;
  /** The name of its pid file and log. */
  readonly name: string;
  readonly program: readonly string[];
  readonly host: string;
  readonly restartPolicy: 'Always' | 'OnFailure' | 'Never';
  /** Variables that are not in the container's spec; those of the spec override them. */
  readonly baseEnv: Environment;
  /** Makes a path within a volume the path of its folder. */
  readonly relocate: (text: string) => string;
  /** The variables of the spec; read at each start, as Secrets and ConfigMaps change. */
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

/** The pause before a restart doubles each time up to the last; the kubelet's pauses are ten times as long. */
const FIRST_BACKOFF_MS = 1000;
const LAST_BACKOFF_MS = 30_000;

/** Runs one container as a process of this machine, with its probes and its restart policy. */
export class ContainerProcess {
  readonly spec: PodContainer;
  readonly #options: ContainerOptions;
  #state: State = { waiting: { reason: 'ContainerCreating' } };
  #lastState: State | undefined;
  #restarts = 0;
  #started = false;
  #ready = false;
  #process: Daemon | undefined;

  constructor(spec: PodContainer, options: ContainerOptions) {
    this.spec = spec;
    this.#options = options;
  }

  get ready(): boolean {
    return this.#ready;
  }

  /** The exit code, once the container has ended and is not restarted. */
  get exitCode(): number | undefined {
    return 'terminated' in this.#state ? this.#state.terminated.exitCode : undefined;
  }

  /** An element of the pod's `containerStatuses`. */
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

  /** Returns when the container has ended and is not restarted, or when aborted; then `stop` ends its process. */
  async run(signal: AbortSignal): Promise<void> {
    const { restartPolicy } = this.#options;
    for (let backoffMs = FIRST_BACKOFF_MS; !signal.aborted; backoffMs = Math.min(backoffMs * 2, LAST_BACKOFF_MS)) {
      const ended = await this.#runOnce(signal);
      if (signal.aborted) return;
      if (ended) {
        const isOver = restartPolicy === 'Never' || (restartPolicy === 'OnFailure' && ended.exitCode === 0);
        if (isOver) return this.#setState({ terminated: ended });
        this.#lastState = { terminated: ended };
        this.#restarts++;
        this.#setState({ waiting: { reason: 'CrashLoopBackOff' } });
      }
      await delay(backoffMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async stop(graceMs: number): Promise<void> {
    if (!this.#process) return;
    await terminate(this.#process.identity, graceMs);
    await this.#process.ended;
    removePidFile(this.#options.dir, this.#options.name);
  }

  /** Undefined if the container could not be started, or is being stopped. */
  async #runOnce(signal: AbortSignal): Promise<Terminated | undefined> {
    const process = await this.#start();
    if (!process) return undefined;
    this.#process = process;
    // Stopped while it was being started: `stop` ends it.
    if (signal.aborted) return undefined;
    const startedAt = now();
    const over = new AbortController();
    signal.addEventListener('abort', () => over.abort(), { once: true });
    this.#started = !this.spec.startupProbe;
    this.#ready = this.#started && !this.spec.readinessProbe;
    this.#setState({ running: { startedAt } });
    const probes = this.#probe(process, over.signal);
    const stopped = once(over.signal, 'abort').then(() => undefined);
    const ending = await Promise.race([process.ended, stopped]);
    over.abort();
    await probes;
    this.#ready = false;
    if (!ending) return undefined;
    this.#process = undefined;
    this.#started = false;
    removePidFile(this.#options.dir, this.#options.name);
    const { exitCode } = ending;
    return { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', startedAt, finishedAt: now() };
  }

  async #start(): Promise<Daemon | undefined> {
    const { dir, name, program, baseEnv, relocate } = this.#options;
    try {
      const found = await this.#options.variables();
      const variables = Object.fromEntries(Object.entries(found).map(([key, value]) => [key, relocate(value)]));
      // The first word of `command` is the program of the image, which is replaced by ours.
      const words = [...(this.spec.command ?? []).slice(1), ...(this.spec.args ?? [])];
      const argv = [...program, ...words.map((word) => relocate(expand(word, variables)))];
      const before = daemonsIn(dir).get(name);
      if (before) await terminate(before, 0); // left by a pod runner that was killed
      return startDaemon(dir, { name, argv, env: { ...baseEnv, ...variables } });
    } catch (error) {
      if (!(error instanceof ContainerConfigError)) throw error;
      this.#setState({ waiting: { reason: 'CreateContainerConfigError', message: error.message } });
      return undefined;
    }
  }

  async #probe(process: Daemon, signal: AbortSignal): Promise<void> {
    const { startupProbe, readinessProbe, livenessProbe } = this.spec;
    const { host } = this.#options;
    const kill = () => void terminate(process.identity, 0);
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
    const setReady = (healthy: boolean) => this.#setReady(healthy);
    const killUnhealthy = (healthy: boolean) => healthy || kill();
    await Promise.all([
      readinessProbe && runProbe(readinessProbe, this.spec, host, { eager: true, signal, changed: setReady }),
      livenessProbe && runProbe(livenessProbe, this.spec, host, { eager: false, signal, changed: killUnhealthy }),
    ]);
  }

  #setReady(ready: boolean): void {
    this.#ready = ready;
    this.#options.changed();
  }

  #setState(state: State): void {
    this.#state = state;
    this.#options.changed();
  }
}

/** The API server accepts whole seconds only. */
export const now = (): string => `${new Date().toISOString().slice(0, 19)}Z`;
