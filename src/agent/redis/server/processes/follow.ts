import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { killGroup, lives, type Seen } from './process-table.ts';

/** How a server ended. Of one that an earlier agent has started, neither is known. */
export interface ServerEnd {
  readonly pid: number;
  readonly code: number | undefined;
  readonly signal: NodeJS.Signals | undefined;
  /** Somebody has sent it a signal through this agent, or the one before. */
  readonly asked: boolean;
}

/** In words, to follow the name of the program. */
export function endInWords({ code, signal }: Pick<ServerEnd, 'code' | 'signal'>): string {
  if (signal !== undefined) return `was ended by ${signal}`;
  return code === undefined ? 'ended' : `ended with exit code ${code}`;
}

/** A living server that somebody looks after. */
export interface Followed {
  readonly process: Seen;
  /** Resolves when the server is dead and nothing of its group is left, however long that takes; never rejects. */
  readonly gone: Promise<Pick<ServerEnd, 'code' | 'signal'>>;
}

const LOOK_EVERY_MS = 250;

/** A server that this agent has started. */
export const followChild = (process: Seen, child: ChildProcess): Followed => ({
  process,
  gone: new Promise<Pick<ServerEnd, 'code' | 'signal'>>((resolve) => {
    const end = (): void => resolve({ code: child.exitCode ?? undefined, signal: child.signalCode ?? undefined });
    if ((child.exitCode ?? child.signalCode) !== null) end();
    else child.once('exit', end);
  }).then((end) => withoutLeftovers(process, end)),
});

/** A server that another agent has started: nobody tells of its end. */
export const followStranger = (process: Seen): Followed => ({
  process,
  gone: new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      if (lives(process)) return;
      clearInterval(timer);
      resolve();
    }, LOOK_EVERY_MS);
    timer.unref(); // an agent that has nothing else to do may end
  }).then(() => withoutLeftovers(process, { code: undefined, signal: undefined })),
});

/** A child that saves would rename its file over that of the next server. */
async function withoutLeftovers<T>({ group }: Seen, end: T): Promise<T> {
  // What cannot be killed now may end later, or be killed then; until then it is not gone.
  while (!(await isCleared(group))) await delay(LOOK_EVERY_MS);
  return end;
}

const isCleared = (group: number): Promise<boolean> =>
  killGroup(group).then(
    () => true,
    () => false,
  );
