/** The candidate that a typing error most likely meant, or undefined if none is close. Capitals count for nothing. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  // A third of the letters may be wrong: enough for a slip or a missing dash, too little for an unrelated word.
  let least = Math.floor(word.length / 3) + 1;
  let best: string | undefined;
  for (const name of candidates) {
    // No name within reach differs in length by more than the distance; this also bounds the work for endless words.
    if (Math.abs(name.length - word.length) >= least) continue;
    const distance = editDistance(word.toLowerCase(), name.toLowerCase());
    if (distance < least) [best, least] = [name, distance];
  }
  return best;
}

/** Levenshtein's distance, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
