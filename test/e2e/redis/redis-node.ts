import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { mkdir, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { LocalRedis } from '../../../src/agent/redis/connection/local-redis.ts';
import type { Credential, Reply } from '../../../src/agent/redis/connection/redis.ts';
import { environment } from '../../../src/config/load.ts';
import type { ApiAccess } from '../../../src/sandbox/control-plane/api-request.ts';
import { writeKubeconfig } from '../../../src/sandbox/control-plane/write-kubeconfig.ts';
import { loopbackAddress } from '../../support/redis-process.ts';
import { until } from '../../support/wait.ts';
import { serversOn } from './processes.ts';
import type { Secrets } from './redis-world.ts';

export interface NodeOptions {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly folder: string;
  readonly access: ApiAccess;
  /** The agent's program. */
  readonly program: readonly string[];
  readonly flags: readonly string[];
}

/** What stands for a pod: an agent as a process with folders and an address of its own, and the Redis that it starts. */
export class RedisNode {
  readonly name: string;
  readonly address = loopbackAddress();
  readonly folders: Readonly<Record<'data' | 'state' | 'projected' | 'tls', string>>;
  /** What agent and Redis printed so far. */
  readonly lines: string[] = [];
  /** Of the test's own connection; tried in order. */
  readonly credentials: Credential[] = [{ user: 'default', password: undefined }];
  readonly #options: NodeOptions;
  readonly #redis: LocalRedis;
  #secrets: Secrets = {};
  #agent: ChildProcess | undefined;
  #ended: Promise<number | string> = Promise.resolve(0);

  constructor(options: NodeOptions) {
    this.name = options.name;
    this.#options = options;
    const under = (name: string): string => join(options.folder, name);
    this.folders = { data: under('d'), state: under('d/.attune'), projected: under('p'), tls: under('t') };
    mkdirSync(options.folder, { recursive: true });
    this.#redis = new LocalRedis({
      target: () => ({ path: this.socket }),
      credentials: () => this.credentials,
    });
  }

  get socket(): string {
    return join(this.folders.state, 'redis.sock');
  }

  /** Starts the agent, as the kubelet would; `under` is what runs it, like an init. */
  start(
    flags: readonly string[] = [],
    env: Readonly<Record<string, string>> = {},
    under: readonly string[] = [],
  ): void {
    const { program, cluster, namespace, access } = this.#options;
    const kubeconfig = join(this.#options.folder, 'kubeconfig');
    writeKubeconfig(kubeconfig, 'e2e', access);
    const [file = '', ...args] = [...under, ...program];
    const { PATH = '' } = environment();
    const words = [
      ...['agent', 'redis', '--data-dir', this.folders.data, '--tls-dir', this.folders.tls],
      ...[...this.#options.flags, ...flags],
    ];
    const agent = spawn(file, [...args, ...words], {
      env: {
        PATH,
        MALLOC_ARENA_MAX: '1',
        KUBECONFIG: kubeconfig,
        CLUSTER_NAME: cluster,
        POD_NAME: this.name,
        POD_NAMESPACE: namespace,
        POD_IP: this.address,
        ATTUNE_LISTEN_ADDRESS: this.address,
        REDIS_OPERATOR_PROJECTED_SECRETS_DIR: this.folders.projected,
        ...env,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [agent.stdout, agent.stderr])
      createInterface({ input: stream }).on('line', (line) => this.lines.push(line));
    this.#agent = agent;
    this.#ended = new Promise((resolve, reject) => {
      agent.once('error', reject);
      agent.once('exit', (code, signal) => resolve(signal ?? code ?? 0));
    });
  }

  get pid(): number {
    return this.#agent?.pid ?? 0;
  }

  /** The agent's exit code, or the signal's name. */
  get ended(): Promise<number | string> {
    return this.#ended;
  }

  /** The redis-servers on this node's data folder: never more than one. */
  get servers(): readonly number[] {
    return serversOn(this.folders.data);
  }

  async signal(name: NodeJS.Signals): Promise<number | string> {
    this.#agent?.kill(name);
    return await this.#ended;
  }

  /** Agent and Redis are killed at once, as a node that loses power does it. */
  async kill9(): Promise<void> {
    await this.signal('SIGKILL');
    await this.#killServers();
  }

  async #killServers(): Promise<void> {
    for (const pid of this.servers) kill(pid);
    await until(() => this.servers.length === 0, { what: 'redis-server gone' });
  }

  /** For the end of a test. */
  async end(): Promise<void> {
    this.#redis.close();
    if (this.#agent) await this.signal('SIGKILL');
    await this.#killServers();
  }

  /** To the node's Redis, by its socket. */
  send(...words: readonly string[]): Promise<Reply> {
    return this.#redis.send(...words);
  }

  async config(key: string): Promise<string | undefined> {
    const [, value] = (await this.send('CONFIG', 'GET', key)) as readonly string[];
    return value;
  }

  /** Makes these the projected Secrets, by one swap as the kubelet does it. Others stay. */
  async project(secrets: Secrets): Promise<void> {
    this.#secrets = { ...this.#secrets, ...secrets };
    const files = Object.entries(this.#secrets).flatMap(([name, keys]) =>
      Object.entries(keys).map(([key, value]) => [`${name}/${key}`, value] as const),
    );
    await swap(this.folders.projected, files);
  }

  async mountTls(files: Readonly<Record<string, string>>): Promise<void> {
    await swap(this.folders.tls, Object.entries(files));
  }

  ask(path: string, method = 'GET'): Promise<{ readonly status: number; readonly body: string }> {
    return new Promise((resolve, reject) => {
      const options = { host: this.address, port: 8080, path, method, agent: false, timeout: 30_000 };
      const sent = get(options, (answer) => {
        let body = '';
        answer.setEncoding('utf8');
        answer.on('data', (text: string) => {
          body += text;
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }));
      });
      sent.on('timeout', () => sent.destroy(new Error('no answer in time')));
      sent.on('error', reject);
    });
  }
}

function kill(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

/** Puts a folder of files in the place of another in one step. */
async function swap(
  root: string,
  files: readonly (readonly [path: string, content: string | Buffer])[],
): Promise<void> {
  const name = `..${randomBytes(6).toString('hex')}`;
  const before = await readlink(join(root, '..data')).catch(() => undefined);
  await mkdir(join(root, name), { recursive: true });
  for (const [path, content] of files) {
    await mkdir(dirname(join(root, name, path)), { recursive: true });
    await writeFile(join(root, name, path), content);
  }
  await symlink(name, join(root, '..data_tmp'));
  await rename(join(root, '..data_tmp'), join(root, '..data'));
  const tops = new Set(files.map(([path]) => path.split('/')[0] ?? ''));
  for (const top of tops) await symlink(join('..data', top), join(root, top)).catch(() => undefined);
  if (before) await rm(join(root, before), { recursive: true, force: true });
}
