import { problemOf, problemsInWords } from '../../../../../domain/redis/acl/acl-refusal.ts';
import { type AclProblem, type AclText, parseAclText } from '../../../../../domain/redis/acl/acl-text.ts';
import { type AclUser, parseAclUsers } from '../../../../../domain/redis/acl/acl-user.ts';
import { DEFAULT_USER } from '../../../../../domain/redis/acl/wanted-users.ts';
import { type Redis, RedisRefusal } from '../../../connection/redis.ts';
import type { TryServer } from '../../../server/trial.ts';

/** The users of a text as Redis itself writes them, all passwords hashed; or why there are none. */
export type AclVerdict =
  | { readonly ok: true; readonly users: readonly AclUser[] }
  | { readonly ok: false; readonly message: string };

export interface AclJudge {
  readonly tryServer: TryServer;
  /** The agent has no login but the default user's. */
  readonly agentIsDefault: boolean;
}

/** Redis stands still while it lists users for the first time: about a second for so many. */
const MOST_USERS = 5000;

/** Tries a text on a throw-away server; where that does not take it, all its mistakes are looked for at once. */
export async function judgeAcl(text: string, { tryServer, agentIsDefault }: AclJudge): Promise<AclVerdict> {
  const parsed = parseAclText(text);
  const { length } = parsed.lines;
  if (length > MOST_USERS) return { ok: false, message: `has ${length} users: at most ${MOST_USERS} are possible` };
  if (parsed.problems.length > 0) return refused([...parsed.problems, ...(await mistakes(parsed, tryServer))]);
  const needed = agentIsDefault ? [...REPLICATION, ...AGENT] : REPLICATION;
  const trial = await tryServer({ directives: [], acl: `${text}\n` }, async (redis) => {
    const users = await aclList(redis);
    // A server has a user of the trial's own.
    const own = parsed.lines.flatMap(({ name }) => users.get(name) ?? []);
    const isNamed = own.some(({ name }) => name === DEFAULT_USER);
    return { own, lacking: isNamed ? await lackingCommands(redis, needed) : [] };
  });
  if (!trial.ok) return refused(await mistakes(parsed, tryServer));
  const { own, lacking } = trial.value;
  const problem = defaultProblem(
    own.find(({ name }) => name === DEFAULT_USER),
    lacking,
  );
  if (problem === undefined) return { ok: true, users: own };
  return refused([{ line: parsed.lines.find(({ name }) => name === DEFAULT_USER)?.number ?? 1, what: problem }]);
}

/** All users that a Redis has, by name. */
export async function aclList(redis: Redis): Promise<ReadonlyMap<string, AclUser>> {
  const lines = await redis.send('ACL', 'LIST');
  return parseAclUsers(Array.isArray(lines) ? lines.map(String) : []);
}

const refused = (problems: readonly AclProblem[]): AclVerdict => ({
  ok: false,
  message: problems.length > 0 ? problemsInWords(problems) : 'a server that is started with this text ends at once',
});

function defaultProblem(user: AclUser | undefined, lacking: readonly string[]): string | undefined {
  if (user && !user.on)
    return 'user default is off (also where "on" is missing): nobody could log in without a name, no replica either';
  if (lacking.length === 0) return undefined;
  const words = lacking.map((command) => `+${command}`).join(' ');
  return `user default may not run what replicas and the agent need of it: add ${words}`;
}

/** What a replica sends to its primary, as user default. */
const REPLICATION: readonly (readonly string[])[] = [['PING'], ['REPLCONF', 'ack', '0'], ['PSYNC', '?', '-1']];

/** What an agent sends that has no user of its own. */
const AGENT: readonly (readonly string[])[] = [
  ['INFO'],
  ['DBSIZE'],
  ['CONFIG', 'GET', 'x'],
  ['CONFIG', 'SET', 'x', 'y'],
  ['ACL', 'LIST'],
  ['ACL', 'SETUSER', 'x'],
  ['ACL', 'DELUSER', 'x'],
  ['CLIENT', 'KILL', 'TYPE', 'normal'],
  ['REPLICAOF', 'NO', 'ONE'],
];

const CONTAINERS: readonly string[] = ['CONFIG', 'ACL', 'CLIENT'];

async function lackingCommands(redis: Redis, commands: readonly (readonly string[])[]): Promise<readonly string[]> {
  const lacking: string[] = [];
  for (const [name = '', ...rest] of commands) {
    const answer = await redis.send('ACL', 'DRYRUN', DEFAULT_USER, name, ...rest);
    const full = CONTAINERS.includes(name) ? `${name}|${rest[0]}` : name;
    if (answer !== 'OK') lacking.push(full.toLowerCase());
  }
  return lacking;
}

/** Each line alone, for a user who is nobody: that shows all mistakes, where a start stops at the first of a line. */
async function mistakes({ lines }: AclText, tryServer: TryServer): Promise<readonly AclProblem[]> {
  const found = await tryServer({ directives: [] }, async (redis) => {
    const problems: AclProblem[] = [];
    for (const line of lines) {
      try {
        await redis.send('ACL', 'SETUSER', 'nobody', 'reset', ...line.words);
      } catch (error) {
        if (!(error instanceof RedisRefusal)) throw error;
        problems.push(problemOf(line, error.message));
      }
    }
    return problems;
  });
  return found.ok ? found.value : [];
}
