import { type Labels, NO_LABELS } from '../../domain/source/source.ts';
import { TextCache } from '../../runtime/text-cache.ts';

/** Up to this length labels need not be counted. A server accepts a megabyte of them. */
export const FEW_LABELS = 1024;

/**
 * Keeps each set of labels once: a hundred thousand sources usually share few of them. A source whose labels are as they were
 * keeps the same object.
 */
export function createLabelSets(): (labels: Labels | undefined, previous: Labels | undefined) => Labels {
  const sets = new TextCache<Labels>();
  return (labels = NO_LABELS, previous = NO_LABELS) => {
    if (isSameLabels(labels, previous)) return previous;
    const entries = Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1));
    if (entries.length === 0) return NO_LABELS;
    const text = JSON.stringify(entries);
    const known = sets.get(text);
    if (known) return known;
    const set = Object.fromEntries(entries);
    sets.set(text, set);
    return set;
  };
}

export function isSameLabels(one: Labels, other: Labels): boolean {
  if (one === other) return true;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}

/** How long their texts are. */
export function labelsLength(labels: Labels): number {
  let length = 0;
  for (const [key, value] of Object.entries(labels)) length += key.length + value.length;
  return length;
}
