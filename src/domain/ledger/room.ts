import { ABSENT, type Applied } from './applied.ts';
import type { SourceId } from './source-id.ts';

// `"Secret/x":"-",`
const SMALLEST = 15;
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

/** Bytes of a string in JSON, as UTF-8 and with its quotes. Names in a pod template may hold any character. */
export function jsonBytes(text: string): number {
  if (PLAIN.test(text)) return text.length + 2;
  let bytes = 0;
  for (const unit of JSON.stringify(text)) {
    const code = unit.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}

/**
 * As many of the sources as fit into so many bytes of JSON: `first` before all others, absent ones last. Long lists of names
 * that do not exist are what makes an entry large, and an absent source that is left out costs at most one restart.
 */
export function withRoomFor(
  sources: Readonly<Record<SourceId, Applied>>,
  bytes: number,
  first: Iterable<SourceId>,
): Readonly<Record<SourceId, Applied>> {
  const ids = Object.keys(sources) as SourceId[];
  const kept: Record<SourceId, Applied> = {};
  let left = bytes;
  const take = (some: Iterable<SourceId>, isWanted: (applied: Applied) => boolean): void => {
    for (const id of some) {
      if (left < SMALLEST) return;
      const applied = sources[id];
      if (applied === undefined || !isWanted(applied) || kept[id] !== undefined) continue;
      // A colon and a comma.
      const size = jsonBytes(id) + jsonBytes(applied) + 2;
      if (size > left) continue;
      left -= size;
      kept[id] = applied;
    }
  };
  take(first, () => true);
  take(ids, (applied) => applied !== ABSENT);
  take(ids, (applied) => applied === ABSENT);
  return kept;
}

/**
 * The most that each may have, so that all fit into `room`: whoever needs less gets all of it, and the rest is shared
 * equally. Infinite if all fit as they are.
 */
export function fairShare(needs: Iterable<number>, room: number): number {
  const sorted = [...needs].sort((a, b) => a - b);
  let left = room;
  for (const [index, need] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - index));
    if (need > share) return share;
    left -= need;
  }
  return Number.POSITIVE_INFINITY;
}
