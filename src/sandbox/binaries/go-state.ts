import type { Activity } from './release.ts';

/** What the go command's lines say about how far it is. */

const DOWNLOAD = /^go: downloading (\S+)/;

/** While `go list -deps` runs: it names each module that it loads and, in the end, each package. */
export function loadState(activity: Activity) {
  let modules = 0;
  let packages = 0;
  activity('looking at its sources');
  return {
    line(text: string): void {
      const module = DOWNLOAD.exec(text)?.[1];
      if (module === undefined) packages++;
      else activity(`loading its sources, module ${++modules}: ${module}`);
    },
    packages: (): number => packages,
  };
}

/** While `go build -v` runs: it names each package that it compiles; those found in its cache are not named. */
export function buildState(wanted: readonly string[], total: number, activity: Activity) {
  let compiled = 0;
  let linking = 0;
  activity(`compiling, ${total} packages at most`);
  return {
    line(text: string): void {
      const module = DOWNLOAD.exec(text)?.[1];
      if (module !== undefined) {
        activity(`loading its sources: ${module}`);
        return;
      }
      compiled++;
      // A program comes when all that it consists of is there; what is left is to link it.
      if (wanted.includes(text)) linking++;
      if (linking === wanted.length) activity(`linking, ${compiled} packages are compiled`);
      else activity(`compiling, package ${compiled} of at most ${total}: ${text}`);
    },
  };
}
