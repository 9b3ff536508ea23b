import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Frees all that nobody holds, now: for tests that count what is held. */
export const collectGarbage = (): void => collect();
