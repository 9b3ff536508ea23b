import { env } from 'node:process';

const { ATTUNE_SOAK } = env;

/** How often a test repeats itself: a little in `npm test`, much in `npm run soak`. */
export function rounds(short: number, long: number): number {
  return ATTUNE_SOAK === '1' ? long : short;
}
