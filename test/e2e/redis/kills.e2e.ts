import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Redis, Reply } from '../../../src/agent/redis/connection/redis.ts';
import { tryLogin } from '../../../src/agent/redis/connection/try-login.ts';
import { parseInfo } from '../../../src/domain/redis/info.ts';
import { makeRedisAuthority, makeRedisLeaf, tlsFiles } from '../../support/redis-certificates.ts';
import { startRedis } from '../../support/redis-process.ts';
import { rounds } from '../../support/soak.ts';
import { until } from '../../support/wait.ts';
import { leafOf, opens, PASSWORD_SPEC, passwordSecrets, TLS_SPEC, untilPassword } from './phases.ts';
import { startedWith } from './processes.ts';
import type { RedisNode } from './redis-node.ts';
import { RedisWorld, type TestCluster } from './redis-world.ts';

const world = await RedisWorld.create('redis-kills');

const ROUNDS = rounds(12, 50);
/** An agent takes a part of this time to come up: it is killed before, during and after its work. */
const LONGEST_MS = 1200;

const acl = (round: number): string => `user app on >app-word ~app:${round}:* +@read +@write`;

/** Looks all the time how many servers there are on the folder of a node. */
class ServerWatch implements Disposable {
  /** Every server that was seen. */
  readonly all = new Set<number>();
  /** How many there were at once. */
  most = 0;
  looks = 0;
  readonly #timer: NodeJS.Timeout;

  constructor(node: RedisNode) {
    this.#timer = setInterval(() => {
      const { servers } = node;
      this.looks += 1;
      this.most = Math.max(this.most, servers.length);
      for (const pid of servers) this.all.add(pid);
    }, 20);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/** Every server that was ever started, as they print it: one that ends at once is seen by no watch. */
const startsOf = ({ lines }: RedisNode): readonly number[] =>
  lines.flatMap((line) => (line.includes('Redis is starting') ? [Number.parseInt(line, 10)] : []));

async function killAtRandom(node: RedisNode): Promise<void> {
  await delay(randomInt(LONGEST_MS));
  await node.signal('SIGKILL');
  node.start();
}

const untilReady = (node: RedisNode) =>
  until(async () => (await node.ask('/readyz')).status === 200, { what: 'an agent that is connected to its Redis' });

const isSettled = (cluster: TestCluster, pod: string) =>
  cluster.until(pod, ({ state, credentials }) => state === 'Running' && credentials?.phase === 'Settled', 'settled');

const rulesOf = (list: Reply): string => (list as readonly string[]).find((line) => line.startsWith('user app ')) ?? '';

const serverPid = async (redis: Redis): Promise<number> =>
  Number(parseInfo(String(await redis.send('INFO', 'server'))).get('process_id'));

describe.concurrent('kill -9 of the agent at any moment', () => {
  it('as parent: one server, always the same, and no change is lost', async () => {
    const ca = await makeRedisAuthority();
    const leaves = await Promise.all(Array.from({ length: 4 }, () => makeRedisLeaf(ca)));
    const leafIn = (round: number) => leaves[round % leaves.length] ?? expect.fail('no leaf');
    const cluster = await world.cluster({
      spec: { ...PASSWORD_SPEC, ...TLS_SPEC, aclConfigSecret: { name: 'users' }, authOverlap: '50ms' },
      secrets: { ...passwordSecrets('word-0'), users: { acl: acl(0) } },
      tls: tlsFiles(leafIn(0), ca),
    });
    const node = cluster.node(0);
    await cluster.start();
    const [pid] = node.servers;
    using watched = new ServerWatch(node);
    for (let round = 1; round <= ROUNDS; round += 1) {
      node.credentials.unshift({ user: 'default', password: `word-${round}` });
      await cluster.spec({ redis: { maxmemory: `${64 + round}mb`, hz: String(10 + round) } });
      await node.project({ ...passwordSecrets(`word-${round}`), users: { acl: acl(round) } });
      await node.mountTls(tlsFiles(leafIn(round), ca));
      await killAtRandom(node);
    }
    await until(async () => (await node.config('maxmemory')) === String((64 + ROUNDS) * 2 ** 20), {
      what: 'maxmemory',
    });
    // By its id: the rest of the status may be of an earlier round, and the leaf of the first is that of the last.
    await untilPassword(cluster, `word-${ROUNDS}`, 'Settled');
    await cluster.until(node.name, ({ tls }) => tls?.leaf === leafIn(ROUNDS).fingerprint, 'with the last leaf');
    await until(async () => !(await opens(node, `word-${ROUNDS - 1}`)), { what: 'the password before refused' });
    expect(await opens(node, `word-${ROUNDS}`)).toBe(true);
    expect(await node.config('hz')).toBe(String(10 + ROUNDS));
    expect(rulesOf(await node.send('ACL', 'LIST'))).toContain(`~app:${ROUNDS}:*`);
    expect(await leafOf(node, ca)).toBe(leafIn(ROUNDS).fingerprint);
    expect([watched.most, [...watched.all]]).toEqual([1, [pid]]);
    expect(startsOf(node)).toEqual([pid]);
    // It looked until the end: in each round more than once.
    expect(watched.looks).toBeGreaterThan(ROUNDS);
  });

  it('as parent, while it starts Redis: never two servers, and each has what was accepted', async () => {
    const cluster = await world.cluster({ spec: { redis: { maxmemory: '80mb' } } });
    const node = cluster.node(0);
    await cluster.start();
    await node.send('SET', 'colour', 'green');
    using watched = new ServerWatch(node);
    for (let round = 1; round <= ROUNDS; round += 1) {
      await node.kill9();
      node.start();
      await killAtRandom(node);
      // Not only Redis, which the agent before may have started: the one that is to find it must have had its turn.
      await untilReady(node);
      expect([await node.config('maxmemory'), await node.send('GET', 'colour')]).toEqual([
        String(80 * 2 ** 20),
        'green',
      ]);
    }
    // Each round has a server of its own, and the watch has seen them all.
    expect(watched.most).toBe(1);
    expect(watched.all.size).toBeGreaterThanOrEqual(ROUNDS);
    expect(startsOf(node)).toHaveLength(1 + ROUNDS);
  });

  it('as sidecar: the same Redis, and no change is lost', async () => {
    await using redis = await startRedis({ directives: [['requirepass', 'word-0']] });
    const flags = ['--mode=sidecar', `--socket=${redis.path}`];
    const cluster = await world.cluster({
      spec: { ...PASSWORD_SPEC, aclConfigSecret: { name: 'users' }, authOverlap: '50ms' },
      secrets: { ...passwordSecrets('word-0'), users: { acl: acl(0) } },
      flags,
    });
    const node = cluster.node(0);
    await cluster.start();
    // A sidecar that has not seen the password of its Redis cannot add the next one: see below.
    const changePassword = async (password: string): Promise<void> => {
      await untilReady(node);
      await node.project(passwordSecrets(password));
      redis.credentials.unshift({ user: 'default', password });
      const login = () => tryLogin({ path: redis.path }, { user: 'default', password });
      await until(async () => (await login()) === 'accepted', { what: password });
    };
    for (let round = 1; round <= ROUNDS; round += 1) {
      if (round % 2 === 0) await changePassword(`word-${round}`);
      await cluster.spec({ redis: { maxmemory: `${64 + round}mb`, hz: String(10 + round) } });
      await node.project({ users: { acl: acl(round) } });
      await killAtRandom(node);
    }
    const config = async (key: string) => ((await redis.send('CONFIG', 'GET', key)) as readonly string[])[1];
    await until(async () => (await config('maxmemory')) === String((64 + ROUNDS) * 2 ** 20), { what: 'maxmemory' });
    await until(async () => rulesOf(await redis.send('ACL', 'LIST')).includes(`~app:${ROUNDS}:*`), { what: 'ACL' });
    await isSettled(cluster, node.name);
    expect(await config('hz')).toBe(String(10 + ROUNDS));
    expect(await serverPid(redis)).toBe(redis.pid);
  });

  it('as sidecar, and the Secret changes before the next one: it gets in all the same', async () => {
    await using redis = await startRedis({ directives: [['requirepass', 'one']] });
    const flags = ['--mode=sidecar', `--socket=${redis.path}`];
    const cluster = await world.cluster({ spec: PASSWORD_SPEC, secrets: passwordSecrets('one'), flags });
    const node = cluster.node(0);
    await cluster.start();
    await node.signal('SIGKILL');
    await node.project(passwordSecrets('two'));
    node.start();
    const login = (password: string) => tryLogin({ path: redis.path }, { user: 'default', password });
    await until(async () => (await login('two')) === 'accepted', { what: 'the new password' });
    expect(await login('one')).toBe('accepted');
    expect(await serverPid(redis)).toBe(redis.pid);
  });

  it('as sidecar of a Redis that has a password which nobody knows: it is told, Redis goes on, and the password helps', async () => {
    await using redis = await startRedis({ directives: [['requirepass', 'one']] });
    const flags = ['--mode=sidecar', `--socket=${redis.path}`];
    const cluster = await world.cluster({ spec: PASSWORD_SPEC, secrets: passwordSecrets('two'), flags });
    const node = cluster.node(0);
    node.start();
    const locked = await cluster.until(node.name, ({ connected }) => connected === false, 'locked out');
    expect(locked.message).toMatch(/no login is accepted.*put the password that Redis has back into the Secret/);
    await cluster.untilEvent('RedisUnreachable', /no login is accepted/);
    expect(await redis.send('SET', 'colour', 'green')).toBe('OK');
    await node.project(passwordSecrets('one'));
    await cluster.until(node.name, ({ state }) => state === 'Running', 'Running');
  });
});

describe('under tini and the supervisor', () => {
  const script = fileURLToPath(new URL('../../../scripts/redis-supervise.sh', import.meta.url));
  // -s: it is not the first process here, and orphans come to it all the same.
  const UNDER = ['tini', '-s', '--', 'sh', script];

  it('a killed agent is started again and keeps Redis; SIGTERM ends all in order', async () => {
    const cluster = await world.cluster({ spec: { redis: { maxmemory: '80mb' } } });
    const node = cluster.node(0);
    const processes = () => startedWith(node.folders.data);
    onTestFinished(() => {
      // From the outside in, so that nothing is started again.
      for (const { pid } of processes()) process.kill(pid, 'SIGKILL');
    });
    const agents = () => processes().flatMap(({ pid, program }) => (program === execPath ? [pid] : []));
    const running = () => cluster.until(node.name, ({ state }) => state === 'Running', 'Running');
    node.start([], {}, UNDER);
    await running();
    await node.send('SET', 'colour', 'green');
    const servers = node.servers;
    expect(servers).toHaveLength(1);

    for (let round = 0; round < 2; round += 1) {
      const [agent = 0] = agents();
      process.kill(agent, 'SIGKILL');
      await until(() => agents().some((pid) => pid !== agent), { what: 'another agent' });
      await cluster.spec({ redis: { maxmemory: `${90 + round}mb` } });
      await until(async () => (await node.config('maxmemory')) === String((90 + round) * 2 ** 20), {
        what: 'maxmemory',
      });
    }
    expect(node.servers).toEqual(servers);

    expect(await node.signal('SIGTERM')).toBe(0);
    expect([processes(), node.servers]).toEqual([[], []]);
    await until(() => node.lines.some((line) => line.includes('DB saved on disk')), { what: 'a save' });
    expect(existsSync(join(node.folders.data, 'dump.rdb'))).toBe(true);
    expect(await cluster.entry(node.name)).toMatchObject({ state: 'Stopped', connected: false });

    node.start([], {}, UNDER);
    await running();
    expect(await node.send('GET', 'colour')).toBe('green');
    expect(await node.signal('SIGTERM')).toBe(0);
  });
});
