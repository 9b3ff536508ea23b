import type { KubeClient } from '../kube/client.ts';
import { pause } from '../runtime/backoff.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Log } from '../telemetry/log.ts';
import type { Engine } from './engine.ts';
import { watchFolders } from './files/watch-folders.ts';
import { Loop } from './loop.ts';
import { WatchedObject } from './watched-object.ts';

export interface AgentDeps {
  readonly client: Pick<KubeClient, 'list' | 'watch'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly passed?: ((ok: boolean, ms: number) => void) | undefined;
}

// The API server usually answers in milliseconds; where it is away, what was last known has to do.
const FIRST_ANSWER_MS = 5000;
const GAP_MS = 100;
const BEGIN_MS = 5000;

/** Runs an engine until the signal, or until its program ends; gives the exit code. */
export async function runAgent(engine: Engine, deps: AgentDeps, signal: AbortSignal): Promise<number> {
  const { client, clock, log } = deps;
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const watched = new WatchedObject({
    client,
    clock,
    log,
    resource: engine.resource,
    namespace: engine.namespace,
    name: engine.name,
    stateDir: engine.stateDir,
    wakingPart: (object) => engine.wakingPart(object),
    changed: (object) => {
      if (object) engine.glance(object);
      loop.wake();
    },
  });
  const loop = new Loop({
    clock,
    resyncMs: engine.resyncMs,
    gapMs: GAP_MS,
    pass: () => pass(),
    failed: (error, retryInMs) => {
      deps.passed?.(false, clock.now() - began);
      log.error('pass failed, trying again', { error: messageOf(error), retryInMs: Math.round(retryInMs) });
    },
  });
  let began = 0;
  const pass = async (): Promise<{ readonly againAfterMs?: number | undefined }> => {
    began = clock.now();
    const object = watched.current;
    if (!object) {
      engine.waiting(
        `${engine.resource.kind} ${engine.namespace}/${engine.name} ${watched.isGone ? 'does not exist' : 'has not been seen yet'}`,
      );
      return {};
    }
    // Not a reason to stop: a full disk must not keep a pod from being fenced.
    await watched.save().catch((error) => log.error('what is known cannot be kept', { error: messageOf(error) }));
    const result = await engine.pass({ object, isGone: watched.isGone });
    deps.passed?.(true, clock.now() - began);
    return result;
  };
  const folders = watchFolders(engine.folders, () => loop.wake());
  const watching = watched.run(either);
  const begun = engine.begin(() => loop.wake());
  const looping = (async () => {
    await begun;
    await watched.first(FIRST_ANSWER_MS);
    await loop.run(either);
  })();
  const told = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
    if (signal.aborted) resolve(undefined);
  });
  try {
    const code = await Promise.race([
      engine.ended,
      told,
      looping.then(() => undefined),
      watching.then(() => undefined),
    ]);
    if (code !== undefined) return code;
    // What is found there has to be stopped too.
    await Promise.race([begun, pause(clock, BEGIN_MS, over.signal)]);
    await engine.stop();
    return 0;
  } finally {
    over.abort();
    folders.close();
    await Promise.allSettled([watching, looping]);
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
