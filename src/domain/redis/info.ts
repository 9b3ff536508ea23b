/** Redis has answered INFO with something that is not what it promises. */
export class InfoError extends Error {
  override readonly name = 'InfoError';
}

/** The fields of an INFO answer. Values may have colons themselves, like an IPv6 address. */
export function parseInfo(text: string): ReadonlyMap<string, string> {
  const info = new Map<string, string>();
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    if (line === '' || line.startsWith('#')) continue;
    const colon = line.indexOf(':');
    if (colon < 1) {
      throw new InfoError(`INFO, line ${at + 1}: expected "field:value", got ${JSON.stringify(line.slice(0, 40))}`);
    }
    info.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return info;
}

export interface Replication {
  readonly role: 'master' | 'slave';
  /** How far this node is: of a primary what it has written, of a replica what it has received. */
  readonly offset: number;
  readonly connectedReplicas: number;
  /** Whom a replica follows; undefined for a primary. */
  readonly master: Upstream | undefined;
  /** Offsets are only comparable between nodes with the same one. */
  readonly replid: string;
  readonly replicas: readonly AttachedReplica[];
}

export interface Upstream {
  /** A name or an address, as REPLICAOF was given it. */
  readonly host: string;
  readonly port: number;
  readonly linkUp: boolean;
  /** The first, full transfer is under way. */
  readonly syncing: boolean;
}

export interface AttachedReplica {
  readonly ip: string;
  readonly port: number;
  /** `online`, or a stage of the first transfer. */
  readonly state: string;
  readonly offset: number;
}

/** The replication section. */
export function replicationOf(info: ReadonlyMap<string, string>): Replication {
  const role = info.get('role');
  if (role !== 'master' && role !== 'slave') throw unexpected('role', '"master" or "slave"', role);
  const isMaster = role === 'master';
  return {
    role,
    offset: integerOf(info, isMaster ? 'master_repl_offset' : 'slave_repl_offset'),
    connectedReplicas: integerOf(info, 'connected_slaves'),
    master: isMaster ? undefined : upstreamOf(info),
    replid: textOf(info, 'master_replid'),
    replicas: [...info].filter(([field]) => /^slave\d+$/.test(field)).map(replicaOf),
  };
}

/** How many keys there are in all databases, by the keyspace section. */
export function keysIn(info: ReadonlyMap<string, string>): number {
  let keys = 0;
  for (const [field, value] of info) if (/^db\d+$/.test(field)) keys += integerOf(partsOf(value), 'keys', field);
  return keys;
}

const upstreamOf = (info: ReadonlyMap<string, string>): Upstream => ({
  host: textOf(info, 'master_host'),
  port: integerOf(info, 'master_port'),
  linkUp: info.get('master_link_status') === 'up',
  syncing: info.get('master_sync_in_progress') === '1',
});

function replicaOf([field, value]: readonly [string, string]): AttachedReplica {
  const parts = partsOf(value);
  return {
    ip: textOf(parts, 'ip', field),
    port: integerOf(parts, 'port', field),
    state: textOf(parts, 'state', field),
    offset: integerOf(parts, 'offset', field),
  };
}

/** `ip=10.0.0.1,port=6379,…` */
const partsOf = (value: string): ReadonlyMap<string, string> =>
  new Map(value.split(',').map((part) => [part.split('=', 1)[0] ?? '', part.slice(part.indexOf('=') + 1)]));

function textOf(fields: ReadonlyMap<string, string>, name: string, within?: string): string {
  const value = fields.get(name);
  if (value === undefined) throw unexpected(name, 'a value', value, within);
  return value;
}

function integerOf(fields: ReadonlyMap<string, string>, name: string, within?: string): number {
  const value = fields.get(name);
  const number = Number(value);
  if (!/^-?\d+$/.test(value ?? '') || !Number.isSafeInteger(number)) {
    throw unexpected(name, 'a whole number', value, within);
  }
  return number;
}

function unexpected(name: string, expected: string, value: string | undefined, within?: string): InfoError {
  const got = value === undefined ? 'nothing' : JSON.stringify(value.slice(0, 40));
  return new InfoError(`INFO, ${within === undefined ? '' : `${within}, `}${name}: expected ${expected}, got ${got}`);
}
