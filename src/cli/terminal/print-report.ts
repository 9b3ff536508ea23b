import { visible, visibleLines } from '../../runtime/visible.ts';
import type { Io } from './io.ts';

/**
 * Prints a report: as JSON for programs, or as text for people. Whatever text of the cluster is in it, it steers no
 * terminal: `text` is given the report with such characters made visible, each string on one line.
 */
export function printReport<T>(io: Io, json: boolean, report: T, text: (report: T) => string): void {
  io.stdout(json ? `${visibleLines(JSON.stringify(report, null, 2))}\n` : text(madeVisible(report)));
}

function madeVisible<T>(value: T): T;
function madeVisible(value: unknown): unknown {
  if (typeof value === 'string') return visible(value);
  if (Array.isArray(value)) return value.map(madeVisible);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [visible(key), madeVisible(each)]));
}
