import { commandWord } from '../command-word.ts';
import { run as status } from '../redis/status.ts';
import type { Io } from '../terminal/io.ts';

const USAGE = `attune redis status [NAME] [flags]

What the agents of a RedisCluster say. attune redis status --help tells more; the agent itself is attune agent redis.
`;

/** `attune redis`: what can be asked about RedisClusters. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const found = commandWord(argv);
  if (found?.word === 'status') return await status(found.rest, io);
  if (!found && argv.some((word) => word === '--help' || word === '-h')) {
    io.stdout(USAGE);
    return 0;
  }
  io.stderr(`attune redis: ${found ? `there is no attune redis ${found.word}` : 'say what: status'}\n\n${USAGE}`);
  return 2;
}
