import type { Environment } from '../../config/options/option-table.ts';

/** What text for people has to fit. */
export interface Layout {
  readonly width: number;
  readonly colour: boolean;
}

const WIDTH = { least: 40, usual: 100, most: 120 };

/** Colour is for people: never into a pipe, and never against NO_COLOR. */
export function layoutFor(stream: { readonly isTTY?: boolean; readonly columns?: number }, env: Environment): Layout {
  const width = Math.min(WIDTH.most, Math.max(WIDTH.least, stream.columns ?? WIDTH.usual));
  return { width, colour: stream.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb' };
}
