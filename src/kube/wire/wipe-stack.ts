// 128 KiB, several times what the deepest read needs, of the megabyte of stack that Node has.
const ZEROS: readonly number[] = new Array<number>(16_384).fill(0);
const SOON_MS = 1000;

let isDue = false;

/**
 * Overwrites the unused stack from the event loop. Node reads TLS through a buffer on the stack, where the end of a long
 * answer stays until something overwrites it. The arguments of a call are written to the stack side by side, so a call
 * with many zeros does.
 */
export function wipeStackSoon(): void {
  if (isDue) return;
  isDue = true;
  setTimeout(wipe, SOON_MS).unref();
}

function wipe(): void {
  isDue = false;
  Reflect.apply(nothing, undefined, ZEROS);
}

const nothing = (): void => {};
