/**
 * An index of a list, made when it is first asked for and kept as long as the list. A list that somebody writes can be so long
 * that looking through it for each of its elements stops everything else.
 */
export function indexOnce<List extends object, Index>(indexOf: (list: List) => Index): (list: List) => Index {
  const made = new WeakMap<List, Index>();
  return (list) => {
    const known = made.get(list);
    if (known !== undefined) return known;
    const index = indexOf(list);
    made.set(list, index);
    return index;
  };
}

/** A shorter list is looked through: most have one or two elements, and each index takes memory. */
export const WORTH_AN_INDEX = 16;
