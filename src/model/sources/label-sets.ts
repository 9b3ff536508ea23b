import { type Labels, NO_LABELS } from '../../domain/source/source.ts';

// Where more than so many differ, hardly any are shared.
const MAX_SETS = 4096;

/**
 * Keeps each set of labels once: a hundred thousand sources usually share few of them. A source whose labels are as they were
 * keeps the same object.
 */
export function createLabelSets(): (labels: Labels | undefined, previous: Labels | undefined) => Labels {
  const sets = new Map<string, Labels>();
  return (labels = NO_LABELS, previous = NO_LABELS) => {
    if (isEqual(labels, previous)) return previous;
    const entries = Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1));
    if (entries.length === 0) return NO_LABELS;
    const text = JSON.stringify(entries);
    const known = sets.get(text);
    if (known) return known;
    if (sets.size >= MAX_SETS) sets.clear();
    const set = Object.fromEntries(entries);
    sets.set(text, set);
    return set;
  };
}

function isEqual(one: Labels, other: Labels): boolean {
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => one[key] === other[key]);
}
