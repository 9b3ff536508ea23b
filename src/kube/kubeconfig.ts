import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Connection } from './connection.ts';
import { fileToken } from './file-token.ts';

interface Named {
  readonly name: string;
  /** Where it stands: relative paths start in that folder. */
  readonly file: string;
}
type Fields = Readonly<Record<string, unknown>>;
interface Cluster extends Named {
  readonly cluster: Fields;
}
interface User extends Named {
  readonly user: Fields;
}
interface Context extends Named {
  readonly context: Fields;
}
interface Kubeconfig {
  readonly current: string | undefined;
  readonly clusters: readonly Cluster[];
  readonly users: readonly User[];
  readonly contexts: readonly Context[];
}

// What we read ourselves. A kubeconfig that uses more (exec plugins, OIDC, proxies …) goes to client-node.
const CLUSTER_FIELDS = new Set([
  'server',
  'certificate-authority',
  'certificate-authority-data',
  'insecure-skip-tls-verify',
  'tls-server-name',
  'extensions',
]);
const USER_FIELDS = new Set([
  'token',
  'tokenFile',
  'client-certificate',
  'client-certificate-data',
  'client-key',
  'client-key-data',
]);
const IMPERSONATION_FIELDS = ['as', 'as-uid', 'as-groups', 'as-user-extra'];

/** The connection that a kubeconfig (or several: the first to name a thing wins) describes. */
export async function readKubeconfig(files: readonly string[], context?: string): Promise<Connection> {
  const config = merge(await Promise.all(files.map(load)));
  const name = context ?? config.current;
  const where = files.join(', ');
  if (!name) throw new Error(`${where}: no current-context; name one with --context`);
  const chosen = find(config.contexts, name, 'context', where).context;
  const cluster = find(config.clusters, text(chosen['cluster']) ?? '', 'cluster', where);
  const userName = text(chosen['user']);
  const user = userName ? find(config.users, userName, 'user', where) : undefined;
  const namespace = text(chosen['namespace']);
  const server = serverOf(cluster);
  if (user) refuseImpersonation(user);

  const plain =
    Object.keys(cluster.cluster).every((field) => CLUSTER_FIELDS.has(field)) &&
    Object.keys(user?.user ?? {}).every((field) => USER_FIELDS.has(field));
  if (plain) return { ...(await plainConnection(cluster, user)), server, namespace };
  const { readForeignKubeconfig } = await import('./foreign-kubeconfig.ts');
  return { ...(await readForeignKubeconfig(files, name)), server, namespace };
}

/** `api.corp:6443` is a URL too, of the scheme "api.corp"; it would send the token in the clear to who knows whom. */
function serverOf({ file, name, cluster }: Cluster): URL {
  const server = URL.parse(text(cluster['server']) ?? '');
  if (server?.protocol === 'https:' || server?.protocol === 'http:') return server;
  throw new Error(`${file}: cluster "${name}" has no valid server; expected a URL like https://host:6443`);
}

/** Who is to act with the rights of another must not act with their own. */
function refuseImpersonation({ file, name, user }: User): void {
  const field = IMPERSONATION_FIELDS.find((candidate) => isGiven(user[candidate]));
  if (!field) return;
  throw new Error(
    `${file}: user "${name}" has "${field}": impersonation is not supported; ` +
      'name a user in the context who has the rights themselves, or a token of the ServiceAccount that is meant',
  );
}

const isGiven = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : text(value) !== undefined;

async function plainConnection(cluster: Cluster, user: User | undefined): Promise<Omit<Connection, 'server'>> {
  const [ca, cert, key] = await Promise.all([
    bytes(cluster.cluster, 'certificate-authority', cluster.file),
    bytes(user?.user, 'client-certificate', user?.file),
    bytes(user?.user, 'client-key', user?.file),
  ]);
  const servername = text(cluster.cluster['tls-server-name']);
  const tls = {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(servername && { servername }),
    ...(cluster.cluster['insecure-skip-tls-verify'] === true && { rejectUnauthorized: false }),
  };
  return {
    tls: () => tls,
    authorization: bearer(user),
  };
}

function bearer(user: User | undefined): Connection['authorization'] {
  // client-go: a token file wins over a token.
  const file = text(user?.user['tokenFile']);
  if (file) return fileToken(resolve(dirname(user?.file ?? ''), file));
  const token = text(user?.user['token']);
  const header = token && `Bearer ${token}`;
  return () => header;
}

/** `field-data` is base64 and wins over `field`, a path. */
async function bytes(fields: Fields | undefined, field: string, beside = ''): Promise<Buffer | undefined> {
  const data = text(fields?.[`${field}-data`]);
  if (data) return Buffer.from(data, 'base64');
  const file = text(fields?.[field]);
  return file ? readFile(resolve(dirname(beside), file)) : undefined;
}

async function load(file: string): Promise<Kubeconfig> {
  const source = await readFile(file, 'utf8');
  let parsed: unknown;
  try {
    // JSON is YAML, and needs no parser to be loaded.
    parsed = source.trimStart().startsWith('{') ? JSON.parse(source) : (await import('yaml')).parse(source);
  } catch {
    // The parser's own words would quote the file, and with it a token.
    parsed = undefined;
  }
  if (typeof parsed !== 'object' || parsed === null) throw new Error(`${file}: not a kubeconfig (YAML or JSON)`);
  const fields = parsed as Fields;
  const entries = <E>(name: string): E[] =>
    (Array.isArray(fields[name]) ? fields[name] : []).map((entry) => ({ ...entry, file }) as E);
  return {
    current: text(fields['current-context']),
    clusters: entries<Cluster>('clusters'),
    users: entries<User>('users'),
    contexts: entries<Context>('contexts'),
  };
}

function merge(configs: readonly Kubeconfig[]): Kubeconfig {
  return {
    current: configs.find((config) => config.current)?.current,
    clusters: configs.flatMap((config) => config.clusters),
    users: configs.flatMap((config) => config.users),
    contexts: configs.flatMap((config) => config.contexts),
  };
}

function find<E extends Named>(entries: readonly E[], name: string, what: string, where: string): E {
  const entry = entries.find((candidate) => candidate.name === name);
  if (!entry) throw new Error(`${where}: there is no ${what} "${name}"`);
  // `cluster: null` is legal YAML.
  return { ...entry, [what]: (entry as unknown as Fields)[what] ?? {} };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
