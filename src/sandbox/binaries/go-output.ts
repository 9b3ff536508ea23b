import type { ShowStatus } from '../progress.ts';

const DOWNLOAD = /^go: downloading (\S+)/;

/** Reads the output of `go list -deps`, which names each module that it downloads and, in the end, each package. */
export function listOutput(showStatus: ShowStatus) {
  let modules = 0;
  let packages = 0;
  showStatus('looking at its sources');
  return {
    line(text: string) {
      const module = DOWNLOAD.exec(text)?.[1];
      if (module === undefined) packages++;
      else showStatus(`loading its sources, module ${++modules}: ${module}`);
    },
    packages: (): number => packages,
  };
}

/** Reads the output of `go build -v`, which names each package that it compiles, but none that is in its cache. */
export function buildOutput(programs: readonly string[], total: number, showStatus: ShowStatus) {
  let compiled = 0;
  let linking = 0;
  showStatus(`compiling, ${total} packages at most`);
  return {
    line(text: string) {
      const module = DOWNLOAD.exec(text)?.[1];
      if (module !== undefined) return showStatus(`loading its sources: ${module}`);
      compiled++;
      // The package of a program is compiled last, and linked afterwards.
      if (programs.includes(text)) linking++;
      if (linking === programs.length) showStatus(`linking, ${compiled} packages are compiled`);
      else showStatus(`compiling, package ${compiled} of at most ${total}: ${text}`);
    },
  };
}
