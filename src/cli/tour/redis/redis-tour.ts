import { tryLogin } from '../../../agent/redis/connection/try-login.ts';
import { REDIS_CLUSTERS, SECRETS } from '../../../api/resources.ts';
import type { KubeClient } from '../../../kube/client.ts';
import { EXAMPLE } from '../../../sandbox/redis/example.ts';
import { suggestions } from '../../sandbox/redis.ts';
import {
  askRedis,
  installRedis,
  nextLeaf,
  REDIS,
  REDIS_PORT,
  type RedisNode,
  secretText,
  secretValue,
  until,
  waitForRedis,
} from '../../sandbox/redis-cluster.ts';
import { table } from '../../terminal/table.ts';
import { TourPage } from '../tour-page.ts';
import { Load, type LoadClient } from './load.ts';
import { leafIn, leafShownBy } from './shown-leaf.ts';

const MEGABYTE = 2 ** 20;
const { namespace, name } = REDIS;

/** The steps of the tour of Redis. Each says what it does, does it, and asks every Redis whether it is so. */
export class RedisTour extends TourPage {
  readonly #load = new Load((words) => this.say(`   ${this.paint('red', '✗')} a command failed: ${words}`));
  #nodes: readonly RedisNode[] = [];
  #ca = Buffer.alloc(0);
  /** The newest comes first: a client that connects anew tries one after the other. */
  #passwords: readonly string[] = [];
  /** Redis gives itself another one at each start. */
  #runs: readonly string[] = [];

  async install(client: KubeClient): Promise<void> {
    await this.waiting(async (_, showStatus) => {
      showStatus('making deploy/redis/example.yaml');
      await installRedis(client, this.io.signal);
      showStatus('waiting for three pods with Redis');
      this.#nodes = await waitForRedis(client, this.io.signal);
    });
    this.#ca = Buffer.from(await secretValue(client, EXAMPLE.caSecret, 'ca.crt'));
    this.#passwords = [await secretValue(client, EXAMPLE.authSecret, 'password')];
    this.#runs = await this.#runIds();
    const rows = this.#nodes.map(({ pod, host }, at) => [
      pod,
      `${host}:${REDIS_PORT}`,
      at === 0 ? 'primary' : 'replica',
    ]);
    this.io.stdout(table(rows, this.page, 3));
    this.done('all pods are ready, with TLS and a password');
  }

  /** Eight clients: four of the user default and two of another one at the primary, two that read from the replicas. */
  async startLoad(client: KubeClient): Promise<void> {
    const acl = await secretValue(client, EXAMPLE.aclSecret, 'acl');
    const [, password] = /^user \S+ on >(\S+)/m.exec(acl) ?? [];
    const shop = () => [{ user: REDIS.user, password }];
    const owner = () => this.#passwords.map((each) => ({ user: 'default', password: each }));
    const at = (node: RedisNode | undefined) => ({ host: node?.host ?? '', port: REDIS_PORT, tls: { ca: this.#ca } });
    const [primary, ...replicas] = this.#nodes;
    const clients: readonly LoadClient[] = [
      ...['1', '2', '3', '4'].map((n) => ({ target: at(primary), credentials: owner, key: `tour:${n}`, writes: true })),
      ...['1', '2'].map((n) => ({ target: at(primary), credentials: shop, key: `${REDIS.user}:${n}`, writes: true })),
      ...replicas.map((node) => ({ target: at(node), credentials: owner, key: 'tour:1', writes: false })),
    ];
    await this.#load.start(clients);
    await until('some commands', this.io.signal, async () => this.#load.counts.commands > 1000);
    this.done(`${clients.length} clients by two users send commands all the time, through what follows`);
  }

  async changeMemory(client: KubeClient): Promise<void> {
    const [before] = await this.#ask('CONFIG', 'GET', 'maxmemory');
    const megabytes = before?.includes(String(192 * MEGABYTE)) ? 224 : 192;
    const body = { spec: { memory: { maxMemory: `${megabytes}Mi` } } };
    this.detail(`kubectl -n ${namespace} patch rediscluster ${name} --type=merge -p '${JSON.stringify(body)}'`);
    await client.patch(REDIS_CLUSTERS, { namespace, name }, body, { type: 'merge' });
    await this.#everyRedis('the new maxmemory', async (node) =>
      (await this.#askOne(node, 'CONFIG', 'GET', 'maxmemory')).endsWith(String(megabytes * MEGABYTE)),
    );
    this.done(`every Redis has maxmemory ${megabytes}Mi`);
  }

  async changePassword(client: KubeClient): Promise<void> {
    const [old = ''] = this.#passwords;
    const next = secretText();
    this.#passwords = [next, old];
    this.detail(`kubectl -n ${namespace} patch secret ${EXAMPLE.authSecret} -p '{"stringData":{"password":"…"}}'`);
    await this.#patchSecret(client, EXAMPLE.authSecret, { password: next });
    await this.#everyRedis('the new password', (node) => this.#opens(node, next, 'accepted'));
    this.done('every Redis accepts the new password, and the old one too');
    await this.#everyRedis('the end of the old password', (node) => this.#opens(node, old, 'refused'));
    this.#passwords = [next];
    this.done('every link uses the new one, and the old one opens nothing any more');
  }

  async changeCertificate(client: KubeClient): Promise<void> {
    const leaf = await nextLeaf(client);
    this.detail(
      `kubectl -n ${namespace} patch secret ${EXAMPLE.tlsSecret} -p '{"stringData":{"tls.crt":"…","tls.key":"…"}}'`,
    );
    await this.#patchSecret(client, EXAMPLE.tlsSecret, { 'tls.crt': leaf.cert, 'tls.key': leaf.key });
    await this.#everyRedis('the new certificate', async ({ host }) => {
      const shown = await leafShownBy({ host, port: REDIS_PORT, ca: this.#ca });
      return shown === leafIn(leaf.cert);
    });
    this.done('every Redis shows the new certificate to whoever connects');
  }

  /** Fails where a single command did, or where a Redis is another one than before. */
  async proveNothingFailed(): Promise<void> {
    const runs = await this.#runIds();
    const { commands, failed, lost } = await this.#load.stop();
    const count = `${commands.toLocaleString('en')} commands: ${failed} failed commands, ${lost} lost connections`;
    if (failed > 0 || lost > 0) throw new Error(count);
    if (runs.join() !== this.#runs.join()) throw new Error(`${count}; but a Redis was started again`);
    this.done(`${count}, no Redis was started again`);
  }

  async stopLoad(): Promise<void> {
    await this.#load.stop();
  }

  suggest(sandbox: string): void {
    this.tellCommands(suggestions(sandbox));
    this.say('\nCtrl-C ends it and clears everything away.\n');
  }

  #runIds(): Promise<readonly string[]> {
    const runId = (info: string): string => /^run_id:(\w+)/m.exec(info)?.[1] ?? '';
    return this.#ask('INFO', 'server').then((all) => all.map(runId));
  }

  #ask(...words: readonly string[]): Promise<readonly string[]> {
    return Promise.all(this.#nodes.map((node) => this.#askOne(node, ...words)));
  }

  #askOne({ host }: RedisNode, ...words: readonly string[]): Promise<string> {
    return askRedis({ host, ca: this.#ca, passwords: this.#passwords }, ...words);
  }

  async #opens({ host }: RedisNode, password: string, wanted: 'accepted' | 'refused'): Promise<boolean> {
    const target = { host, port: REDIS_PORT, tls: { ca: this.#ca } };
    return (await tryLogin(target, { user: 'default', password })) === wanted;
  }

  async #everyRedis(what: string, isSo: (node: RedisNode) => Promise<boolean>): Promise<void> {
    for (const node of this.#nodes) await until(`${what} at ${node.pod}`, this.io.signal, () => isSo(node));
  }

  async #patchSecret(client: KubeClient, secret: string, stringData: Readonly<Record<string, string>>): Promise<void> {
    await client.patch(SECRETS, { namespace, name: secret }, { stringData }, { type: 'merge' });
  }
}
