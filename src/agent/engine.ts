import type { KubeObject } from '../api/objects.ts';
import type { Resource } from '../api/resources.ts';

/** What a pass has to go by. */
export interface Seen {
  /** As it is, or as it was last known. */
  readonly object: KubeObject;
  /** The server has said that it does not exist any more. */
  readonly isGone: boolean;
}

/** A program in this pod that is kept in tune. The agent wakes it; what there is to do, it knows itself. */
export interface Engine {
  /** The object that says what is wanted, and its name. */
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
  /** Folders whose changes matter. */
  readonly folders: readonly string[];
  /** A pass is due this long after the last one at the latest; undefined: only when something has changed. */
  readonly resyncMs: number | undefined;
  /** Where the agent keeps what it has to know after it was killed. */
  readonly stateDir: string;
  /** All of the object that makes a pass necessary, as a text to compare. */
  wakingPart(object: KubeObject): string;
  /** Before the first pass; `wake` makes one due. */
  begin(wake: () => void): Promise<void>;
  /** Called with each change at once, also while a pass is under way: for what must not wait. */
  glance(object: KubeObject): void;
  /** Brings the program to what is wanted. To fail is to be called again. */
  pass(seen: Seen): Promise<{ readonly againAfterMs?: number | undefined }>;
  /** There is nothing to go by: the object has never been seen. */
  waiting(why: string): void;
  /** The program has ended by itself: so does the agent, with this exit code. */
  readonly ended: Promise<number>;
  /** The agent is told to end. */
  stop(): Promise<void>;
}
