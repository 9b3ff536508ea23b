import { type Labels, NO_LABELS } from '../../domain/source/source.ts';
import { TextCache } from '../../runtime/text-cache.ts';

// Measured: a property of an object, and its key and value beside their characters.
const LABEL_BYTES = 96;

/**
 * Keeps each set of labels once: a hundred thousand sources usually share few of them. A source whose labels are as they were
 * keeps the same object.
 */
export function createLabelSets(): (labels: Labels | undefined, previous: Labels | undefined) => Labels {
  const sets = new TextCache<Labels>(labelsBytes);
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

/** How much memory they take, about: many short labels need more than their texts. */
export function labelsBytes(labels: Labels): number {
  let bytes = 0;
  for (const [key, value] of Object.entries(labels)) bytes += LABEL_BYTES + key.length + value.length;
  return bytes;
}
