import { parseInfo } from '../../../../src/domain/redis/info.ts';
import { until } from '../../../support/wait.ts';
import type { RedisNode } from '../redis-node.ts';
import type { ClusterOptions, RedisWorld, TestCluster } from '../redis-world.ts';

/** A cluster whose agents run by `--compat=strict`. */
export const strictCluster = (world: RedisWorld, options: ClusterOptions = {}): Promise<TestCluster> =>
  world.cluster({ ...options, flags: ['--compat=strict', ...(options.flags ?? [])] });

/** Starts all agents; each has written its entry when this returns. */
export async function startAll(cluster: TestCluster): Promise<void> {
  for (const node of cluster.nodes) node.start();
  await Promise.all(
    cluster.nodes.map(({ name }) => cluster.until(name, ({ connected }) => connected === true, 'runs')),
  );
}

/** In the entry of a pod this is foreign: a pass that comes to its end removes it, as it replaces the whole entry. */
export const mark = ({ name }: RedisNode) => ({ instancesStatus: { [name]: { lastSeenAt: '2026-01-31T12:00:00Z' } } });

export const isMarked = async (cluster: TestCluster, { name }: RedisNode): Promise<boolean> =>
  'lastSeenAt' in ((await cluster.entry(name)) ?? {});

/** A pass over the object as it is now has come to its end. */
export async function passed(cluster: TestCluster, node: RedisNode): Promise<void> {
  await cluster.status(mark(node));
  await cluster.until(node.name, (entry) => !('lastSeenAt' in entry), 'is through with a pass');
}

/** How many lines of the agent's log say so. */
export const said = ({ lines }: RedisNode, what: RegExp): number => lines.filter((line) => what.test(line)).length;

export async function untilSaid(node: RedisNode, what: RegExp, times = 1): Promise<void> {
  try {
    await until(() => said(node, what) >= times, { what: `${node.name} says ${what}` });
  } catch (error) {
    throw new Error(`${node.name} never said ${what}, but:\n${node.lines.slice(-40).join('\n')}`, { cause: error });
  }
}

/** Passes that came to their end, of which a fenced pod leaves no other trace. */
export async function passCount(node: RedisNode): Promise<number> {
  const { body } = await node.ask('/metrics');
  return Number(/^attune_agent_passes_total\{result="success"\} (\d+)/m.exec(body)?.[1] ?? 0);
}

/** Without the seconds in which a primary waits for more replicas that want everything; also a directive. */
export const AT_ONCE = ['repl-diskless-sync-delay', '0'] as const;

/** What Redis says of its replication. */
export async function replication(node: RedisNode): Promise<Readonly<Record<string, string>>> {
  return Object.fromEntries(parseInfo(String(await node.send('INFO', 'replication'))));
}

/** With these every command is kept from the start on; as settings of the object they are set in each pass. */
export const LOG_ALL = { 'slowlog-log-slower-than': '0', 'slowlog-max-len': '10000' };

type SlowEntry = readonly [id: number, at: number, us: number, words: readonly string[], from: string, name: string];

/** The commands that an agent sends to its Redis, in their order, from Redis's own log. */
export class CommandLog {
  readonly #node: RedisNode;

  private constructor(node: RedisNode) {
    this.#node = node;
  }

  static async of(node: RedisNode): Promise<CommandLog> {
    for (const [key, value] of Object.entries(LOG_ALL)) await node.send('CONFIG', 'SET', key, value);
    const log = new CommandLog(node);
    await log.clear();
    return log;
  }

  /** Of a Redis that was started with {@link LOG_ALL}; for the first that the test asks of it. */
  static async sinceStart(node: RedisNode): Promise<CommandLog> {
    await node.send('CLIENT', 'SETNAME', 'test');
    return new CommandLog(node);
  }

  /** Without logins, and without those of the test, whose connection has a name. */
  async words(): Promise<readonly string[]> {
    await this.#node.send('CLIENT', 'SETNAME', 'test');
    const all = (await this.#node.send('SLOWLOG', 'GET', '-1')) as unknown as readonly SlowEntry[];
    const { socket } = this.#node;
    return all
      .filter(([, , , , from, name]) => from.startsWith(socket) && name !== 'test')
      .toSorted(([one], [other]) => one - other)
      .map(([, , , words]) => words.join(' '))
      .filter((line) => !/^(AUTH|PING)\b|^INFO everything$/.test(line));
  }

  async clear(): Promise<void> {
    await this.#node.send('CLIENT', 'SETNAME', 'test');
    await this.#node.send('SLOWLOG', 'RESET');
  }

  /** Waits until one pass has been logged from its first command to its last, and gives it. */
  async pass(): Promise<readonly string[]> {
    return await until(
      async () => {
        const words = await this.words();
        const first = words.indexOf(INFO);
        const last = words.indexOf(INFO, first + 1);
        return first >= 0 && last > first && words.slice(first, last + 1);
      },
      { what: 'a whole pass in the log of Redis' },
    );
  }

  /** As long as ten of the passes of {@link IMPATIENT} would take; gives what was sent in that time. */
  async silence(ms = 500): Promise<readonly string[]> {
    await this.clear();
    await this.#node.send('XREAD', 'BLOCK', String(ms), 'STREAMS', 'nobody-writes-here', '$');
    return await this.words();
  }

  /** When no pass is under way or due any more; the log is empty then. */
  async quiet(): Promise<void> {
    // Between two commands a pass may wait for the disk, or for the API server.
    await until(async () => (await this.silence(2000)).length === 0, { what: 'no passes without a change' });
  }
}

/** A pass begins with it, for the role, and ends with it, for the status. */
export const INFO = 'INFO replication';

/** Flags by which an agent that has a clock would be busy all the time. */
export const IMPATIENT = ['--resync=50ms', '--status-interval=50ms'];
