import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** The living redis-servers whose data folder this is, without their children. */
export function serversOn(dataDir: string): readonly number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const isServer = stat.includes('(redis-server)') && state !== 'Z' && group === name;
      return isServer && readlinkSync(`/proc/${name}/cwd`).replace(/ \(deleted\)$/, '') === dataDir
        ? [Number(name)]
        : [];
    } catch {
      return [];
    }
  });
}

/** Processes that were started with this folder among their words, by the program that they run. */
export function startedWith(folder: string): readonly { readonly pid: number; readonly program: string }[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
      return words.includes(folder) ? [{ pid: Number(name), program: readlinkSync(`/proc/${name}/exe`) }] : [];
    } catch {
      return [];
    }
  });
}
