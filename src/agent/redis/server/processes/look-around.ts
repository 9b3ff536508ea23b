import { realpath } from 'node:fs/promises';
import { basename } from 'node:path';
import { groupMembers, killGroup, processesIn, type Seen } from './process-table.ts';

/** What runs on a data folder. */
export interface Around {
  /** Servers of an agent: each leads a group of its own. The newest first, which has taken the socket over. */
  readonly servers: readonly Seen[];
  /** Servers that somebody else has started here: they are in the group of something else that lives. */
  readonly foreign: readonly Seen[];
  /** Groups of which the server is dead, and a child still writes its file. */
  readonly orphans: readonly number[];
}

/** The kernel keeps this much of a program's name. */
const NAME_BYTES = 15;

/** Looks at every process of the machine: what an agent was about to note down when it was killed is found too. */
export async function lookAround(dataDir: string, redisServer: string): Promise<Around> {
  const names = ['redis-server', basename(redisServer).slice(0, NAME_BYTES)];
  const found = processesIn(await realpath(dataDir), (name) => names.includes(name));
  const pids = new Set(found.map(({ pid }) => pid));
  // A child is in the group of its server, which is here too, or is dead.
  const others = found.filter(({ pid, group }) => pid !== group && !pids.has(group));
  // Group 0 is one that this container cannot see, 1 is that of its first process: both live.
  const isOrphan = ({ group }: Seen): boolean => group > 1 && !groupMembers(group).includes(group);
  return {
    servers: found.filter(({ pid, group }) => pid === group).toSorted(newestFirst),
    foreign: others.filter((one) => !isOrphan(one)),
    orphans: [...new Set(others.filter(isOrphan).map(({ group }) => group))],
  };
}

/** Kills what dead servers have left: a child that saves would rename its file over a newer one. */
export async function killOrphans({ orphans }: Around): Promise<void> {
  for (const group of orphans) await killGroup(group);
}

/** The start is a boot and a number of ticks since. */
const ticks = ({ startedAt }: Seen): number => Number(startedAt.split('/').at(-1));
const newestFirst = (a: Seen, b: Seen): number => ticks(b) - ticks(a);
