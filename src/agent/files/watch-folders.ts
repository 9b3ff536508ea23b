import { type FSWatcher, watch } from 'node:fs';
import { basename } from 'node:path';
import { markOf } from './folder-mark.ts';

/** The kubelet makes a swap of several steps. */
const SETTLE_MS = 20;
const POLL_MS = 2000;

export interface FolderWatch {
  close(): void;
}

/**
 * Calls `changed` soon after files of the folders have changed, once for what happens together. The folders themselves are
 * watched, never files: such a watch dies with the first swap. Besides they are looked at every few seconds: a folder may
 * come into being later, be replaced, or be of a kind that tells nobody. Does not keep the process alive.
 */
export function watchFolders(roots: readonly string[], changed: () => void, pollMs = POLL_MS): FolderWatch {
  let settling: NodeJS.Timeout | undefined;
  const wake = (): void => {
    settling ??= setTimeout(() => {
      settling = undefined;
      for (const one of watches) one.remember();
      changed();
    }, SETTLE_MS).unref();
  };
  const watches = roots.map((root) => watchFolder(root, wake, pollMs));
  return {
    close() {
      clearTimeout(settling);
      for (const one of watches) one.close();
    },
  };
}

interface OneFolder extends FolderWatch {
  /** What is there now is about to be told: the next look need not wake anybody for it again. */
  remember(): void;
}

function watchFolder(root: string, wake: () => void, pollMs: number): OneFolder {
  let watcher: FSWatcher | undefined;
  let mark = markOf(root);

  const unwatch = (): void => {
    watcher?.close();
    watcher = undefined;
  };
  const rewatch = (): void => {
    unwatch();
    try {
      watcher = watch(root, { persistent: false }, (_, name) => {
        // Its own name: the folder is gone, and the watch is dead though another one may stand there already.
        if (name === basename(root)) rewatch();
        wake();
      }).on('error', unwatch);
    } catch {
      // Not there, or no watches left: the next look finds what has changed.
    }
  };
  const look = (): void => {
    const seen = markOf(root);
    if (!watcher || mark.identity !== seen.identity) rewatch();
    if (mark.identity !== seen.identity || mark.state !== seen.state) wake();
    mark = seen;
  };

  rewatch();
  const poll = setInterval(look, pollMs).unref();
  return {
    remember() {
      const seen = markOf(root);
      // Another folder in its place is left to the next look, which watches that one.
      if (seen.identity === mark.identity) mark = seen;
    },
    close() {
      clearInterval(poll);
      unwatch();
    },
  };
}
