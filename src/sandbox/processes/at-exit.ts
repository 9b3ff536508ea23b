/**
 * What is done when this process ends before it could tidy up in its own time: it was told twice, or something was thrown
 * that nobody caught. Only kill -9 and a crash of Node itself get past it. The work cannot wait for anything, as there are
 * no promises any more.
 */
const works: (() => void)[] = [];

/** The newest is done first. Gives the way to call it off. */
export function atExit(work: () => void): () => void {
  if (works.length === 0) process.once('exit', doAll);
  works.push(work);
  return () => {
    const at = works.indexOf(work);
    if (at >= 0) works.splice(at, 1);
    if (works.length === 0) process.removeListener('exit', doAll);
  };
}

function doAll(): void {
  // Whoever is asked to end is about to; somebody else's handler that hears only once would let the second one kill.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) process.on(name, () => {});
  for (let work = works.pop(); work; work = works.pop()) {
    try {
      work();
    } catch {
      // The next start clears up what could not be cleared now; the others have their turn.
    }
  }
}
