import { ALLOW_DANGEROUS } from '../../../api/redis-cluster/annotations.ts';
import { amountOf } from './amount.ts';
import type { StartLine } from './start-line.ts';

/** What a running Redis says of itself, as far as it decides whether a change does harm. */
export interface ServerFacts {
  /** It loads its data, or receives it from a primary: nobody knows yet how much there will be. */
  readonly isLoading: boolean;
  readonly usedMemory: number;
  readonly maxmemory: number;
  readonly policy: string;
  readonly clients: number;
  readonly maxclients: number;
  readonly isPrimary: boolean;
  /** Replicas that are online and not late. */
  readonly goodReplicas: number;
  readonly minReplicas: number;
  readonly databases: number;
  /** Of the last database that holds a key; -1: none does. */
  readonly lastDatabase: number;
}

export interface Change {
  readonly name: string;
  readonly text: string;
}

type Rule = (text: string, server: ServerFacts) => string | undefined;

/** The agent's own connections, and those of probes and other pods. */
const SPARE_CLIENTS = 32;
const FEWEST_CLIENTS = 64;

const RULES: ReadonlyMap<string, Rule> = new Map([
  ['maxmemory', maxmemoryDanger],
  ['maxmemory-policy', policyDanger],
  ['maxclients', maxclientsDanger],
  ['min-replicas-to-write', minReplicasDanger],
  ['databases', databasesDanger],
]);

/** Whether the numbers of a running server decide about changes of it. */
export const isJudged = (name: string): boolean => RULES.has(name);

/** Not yet an answer: a later pass has it. */
export const UNDECIDED = 'Redis still loads its data: it is decided when that is done';

/** These depend on how much data there is. */
const BY_DATA = new Set(['maxmemory', 'maxmemory-policy', 'databases']);

/** What harm a change would do to this server, and how to allow it, or {@link UNDECIDED}. */
export function dangerOf({ name, text }: Change, server: ServerFacts): string | undefined {
  const isOpen = server.isLoading && BY_DATA.has(name);
  const most = { usedMemory: Number.POSITIVE_INFINITY, lastDatabase: Number.POSITIVE_INFINITY };
  const harm = RULES.get(name)?.(text, isOpen ? { ...server, ...most } : server);
  if (harm === undefined) return undefined;
  return isOpen ? UNDECIDED : `${harm}. ${wayOut(name)}`;
}

/** The server as it is after a change of its memory. */
export function after({ name, text }: Change, server: ServerFacts): ServerFacts {
  return name === 'maxmemory' ? { ...server, maxmemory: amountOf(text) ?? server.maxmemory } : server;
}

/** What the agent sends, and what replicas and the files of Redis itself consist of. */
const NEEDED = new Set(
  `acl auth bgrewriteaof bgsave client command config dbsize exec failover hello info lastsave module multi ping psync
  quit replconf replicaof role save select shutdown slaveof sync wait`.split(/\s+/),
);

/** What harm would come at every start, whatever the server holds. */
export function dangerAtStart(change: Change & { readonly line?: StartLine | undefined }): string | undefined {
  const { name, text, line } = change;
  if (line?.directive === 'rename-command' && NEEDED.has(line.command))
    return `The agent, replicas or the files of Redis need ${line.command.toUpperCase()}: without it this pod cannot be kept in order. ${wayOut('rename-command')}`;
  if (name === 'maxclients' && (amountOf(text) ?? FEWEST_CLIENTS) < FEWEST_CLIENTS)
    return `With fewer than ${FEWEST_CLIENTS} clients the agent, probes and replicas may be locked out. ${wayOut(name)}`;
  if (name === 'tls-auth-clients' && text.toLowerCase() === 'yes')
    return `Agents log in to other pods without a certificate of their own: they could no longer prove a password there. ${wayOut(name)}`;
  return undefined;
}

/** Whether somebody has allowed dangerous changes of this one. */
export const isAllowed = (allowed: ReadonlySet<string>, name: string): boolean =>
  allowed.has(name) || allowed.has(name.split(' ', 1)[0] ?? '');

const wayOut = (name: string): string => `If that is meant, add ${name} to the annotation ${ALLOW_DANGEROUS}`;

function maxmemoryDanger(text: string, { usedMemory, maxmemory }: ServerFacts): string | undefined {
  const wanted = amountOf(text);
  if (!wanted || wanted >= usedMemory) return undefined;
  // More than now does no harm, even if it is still not enough.
  if (maxmemory > 0 && wanted >= maxmemory) return undefined;
  // The policy may change as well, now or later: both are told.
  const harm = 'data would be evicted at once, or writes fail where the policy is noeviction';
  return `Redis uses ${usedMemory} bytes, the new limit would be ${wanted}: ${harm}`;
}

function policyDanger(text: string, { usedMemory, maxmemory, policy }: ServerFacts): string | undefined {
  if (!isEvicting(text) || text.toLowerCase() === policy || maxmemory === 0 || usedMemory <= maxmemory)
    return undefined;
  return `Redis uses ${usedMemory} bytes, its limit is ${maxmemory}: data would be evicted at once (${text})`;
}

const isEvicting = (policy: string): boolean => policy.toLowerCase() !== 'noeviction';

function maxclientsDanger(text: string, { clients, maxclients }: ServerFacts): string | undefined {
  const wanted = amountOf(text);
  const fewest = Math.max(clients + SPARE_CLIENTS, FEWEST_CLIENTS);
  if (wanted === undefined || wanted >= fewest || wanted >= maxclients) return undefined;
  return `${clients} clients are connected, at most ${wanted} would be: new connections, the agent's too, would be refused below ${fewest}`;
}

function minReplicasDanger(text: string, { isPrimary, goodReplicas, minReplicas }: ServerFacts): string | undefined {
  const wanted = amountOf(text);
  if (!isPrimary || wanted === undefined || wanted <= goodReplicas || wanted <= minReplicas) return undefined;
  return `${goodReplicas} replicas are in step, ${wanted} would be needed: writes would be refused at once`;
}

function databasesDanger(text: string, { databases, lastDatabase }: ServerFacts): string | undefined {
  const wanted = amountOf(text);
  if (wanted === undefined || wanted > lastDatabase || wanted >= databases) return undefined;
  return `Database ${lastDatabase} holds keys: with ${wanted} databases Redis would not start with its data`;
}
