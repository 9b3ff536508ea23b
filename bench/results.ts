import type { Calls } from './audit.ts';

/** What one contender did in one scenario. */
export interface Result {
  readonly scenario: string;
  readonly contender: string;
  /** For costs that are taken at several sizes. */
  readonly size?: number;
  /** By name with unit, for example "p50 ms". */
  readonly figures: Readonly<Record<string, number>>;
  readonly calls?: Calls;
  readonly latencies?: readonly number[];
  /** The machine's load average before it began: a busy machine measures itself. */
  readonly load: number;
  readonly note?: string;
}
