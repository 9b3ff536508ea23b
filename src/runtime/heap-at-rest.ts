import type { Clock } from './clock.ts';
import { restoreYoungGeneration } from './young-generation.ts';

/** The memory of a process, as far as its collector has to do with it. */
export interface Heap {
  /** Processor time of the whole process so far. */
  cpuMs(): number;
  /** What is taken from the system, in use or not. */
  bytes(): number;
  /** Collects all garbage, and gives the memory back to the system. */
  shrink(): void;
}

/** Where the runtime has another collector, or lets nobody ask it, `shrink` does nothing. */
export const v8Heap: Heap = {
  cpuMs() {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  },
  bytes: () => process.memoryUsage().heapTotal,
  shrink() {
    process.getBuiltinModule('node:v8').setFlagsFromString('--expose-gc');
    // Only a new context has the function.
    process.getBuiltinModule('node:vm').runInNewContext(`globalThis.gc?.({ type: 'major', flavor: 'last-resort' })`);
    restoreYoungGeneration();
  },
};

const LOOK_MS = 5000;
const REST_SHARE = 0.05;
// A collection costs time in proportion to the memory in use: it has to give back a fair part of that.
const WORTH_BYTES = 4 * 1024 ** 2;
const WORTH_SHARE = 0.1;

/**
 * Shrinks the heap after the start and after each burst, when nothing is to be done. By itself V8 collects when it needs
 * memory, which an idle program does not: the garbage of the last burst would stay until the next. The function that is
 * returned ends this.
 */
export function shrinkAtRest(clock: Clock, heap: Heap = v8Heap): () => void {
  let kept = 0;
  let [at, cpuMs] = [clock.now(), heap.cpuMs()];
  let callOff = clock.after(LOOK_MS, look);
  function look(): void {
    const isAtRest = heap.cpuMs() - cpuMs < REST_SHARE * (clock.now() - at);
    if (isAtRest && heap.bytes() > kept * (1 + WORTH_SHARE) + WORTH_BYTES) {
      heap.shrink();
      kept = heap.bytes();
    }
    [at, cpuMs] = [clock.now(), heap.cpuMs()];
    callOff = clock.after(LOOK_MS, look);
  }
  return () => callOff();
}
