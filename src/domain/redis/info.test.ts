import { describe, expect, it } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { loopbackAddress, startRedis, type TestRedis } from '../../../test/support/redis-process.ts';
import { InfoError, keysIn, parseInfo, replicationOf } from './info.ts';

const MASTER = [
  '# Replication',
  'role:master',
  'connected_slaves:2',
  'slave0:ip=10.0.0.7,port=6379,state=online,offset=1204,lag=1',
  'slave1:ip=fd00::7,port=6380,state=wait_bgsave,offset=0,lag=0',
  'master_failover_state:no-failover',
  'master_replid:8c1ac68b0d6ba1b2d9bcee4e8be8b4fd5a8a9f56',
  'master_repl_offset:1218',
  '',
].join('\r\n');

const REPLICA = [
  '# Replication',
  'role:slave',
  'master_host:fd00::1',
  'master_port:6379',
  'master_link_status:up',
  'master_sync_in_progress:0',
  'slave_read_repl_offset:1300',
  'slave_repl_offset:1218',
  'connected_slaves:0',
  'master_replid:8c1ac68b0d6ba1b2d9bcee4e8be8b4fd5a8a9f56',
  'master_repl_offset:9999',
].join('\r\n');

const replication = (text: string) => replicationOf(parseInfo(text));

describe('parseInfo', () => {
  it('splits at the first colon, and skips headings', () => {
    expect([...parseInfo('# Server\r\nexecutable:/usr/bin:x\r\nempty:\r\n\r\n')]).toEqual([
      ['executable', '/usr/bin:x'],
      ['empty', ''],
    ]);
  });

  it('says what was expected', () => {
    expect(() => parseInfo('# Server\nnonsense')).toThrow(
      new InfoError('INFO, line 2: expected "field:value", got "nonsense"'),
    );
  });
});

describe('replicationOf', () => {
  it('ST4 ST5 reads a primary with its replicas', () => {
    expect(replication(MASTER)).toEqual({
      role: 'master',
      offset: 1218,
      connectedReplicas: 2,
      master: undefined,
      replid: '8c1ac68b0d6ba1b2d9bcee4e8be8b4fd5a8a9f56',
      replicas: [
        { ip: '10.0.0.7', port: 6379, state: 'online', offset: 1204 },
        { ip: 'fd00::7', port: 6380, state: 'wait_bgsave', offset: 0 },
      ],
    });
  });

  it('ST4 takes what a replica has received, not what its own log says', () => {
    expect(replication(REPLICA)).toMatchObject({
      role: 'slave',
      offset: 1218,
      connectedReplicas: 0,
      master: { host: 'fd00::1', port: 6379, linkUp: true, syncing: false },
      replicas: [],
    });
  });

  it('knows a link that is down, and a first transfer', () => {
    const text = REPLICA.replace('status:up', 'status:down').replace('in_progress:0', 'in_progress:1');
    expect(replication(text).master).toMatchObject({ linkUp: false, syncing: true });
  });

  it.each([
    ['role:master', 'role:sentinel', 'INFO, role: expected "master" or "slave", got "sentinel"'],
    ['role:master\r\n', '', 'INFO, role: expected "master" or "slave", got nothing'],
    [':1218', ':1e3', 'INFO, master_repl_offset: expected a whole number, got "1e3"'],
    [':1218', ':', 'INFO, master_repl_offset: expected a whole number, got ""'],
    [':1218', ':99999999999999999', 'INFO, master_repl_offset: expected a whole number, got "99999999999999999"'],
    ['port=6380', 'port=x', 'INFO, slave1, port: expected a whole number, got "x"'],
    ['ip=10.0.0.7,', '', 'INFO, slave0, ip: expected a value, got nothing'],
  ])('refuses %j as %j', (from, to, message) => {
    expect(() => replication(MASTER.replace(from, to))).toThrow(new InfoError(message));
  });
});

describe('keysIn', () => {
  it('adds up all databases', () => {
    const text = '# Keyspace\r\ndb0:keys=3,expires=0,avg_ttl=0\r\ndb11:keys=4,expires=1,avg_ttl=5\r\n';
    expect(keysIn(parseInfo(text))).toBe(7);
    expect(keysIn(parseInfo('# Keyspace\r\n'))).toBe(0);
  });

  it('refuses a database without a number of keys', () => {
    expect(() => keysIn(parseInfo('db0:expires=1'))).toThrow(
      new InfoError('INFO, db0, keys: expected a whole number, got nothing'),
    );
  });
});

it('reads what a real primary and its replica say', async () => {
  const host = loopbackAddress();
  await using primary = await startRedis({ host, directives: [['repl-diskless-sync-delay', '0']] });
  await using replica = await startRedis({ host: loopbackAddress() });
  const read = async (redis: TestRedis) => parseInfo(String(await redis.send('INFO')));
  await primary.send('MSET', 'a', '1', 'b', '2');
  expect(replicationOf(await read(primary))).toMatchObject({ role: 'master', offset: 0, replicas: [] });

  await replica.send('REPLICAOF', host, '6379');
  expect(replicationOf(await read(replica)).master).toMatchObject({ host, port: 6379 });
  await eventually(async () => replicationOf(await read(replica)).master?.linkUp).toBe(true);
  await eventually(async () => replicationOf(await read(primary)).replicas[0]?.state).toBe('online');
  await primary.send('SET', 'c', '3');
  await primary.send('WAIT', '1', '4000');
  const [above, below] = [replicationOf(await read(primary)), replicationOf(await read(replica))];
  expect(below.offset).toBeGreaterThan(0);
  expect(below.offset).toBeLessThanOrEqual(above.offset);
  expect(below.replid).toBe(above.replid);
  expect(above).toMatchObject({ connectedReplicas: 1, replicas: [{ port: 6379 }] });
  expect(keysIn(await read(replica))).toBe(3);
});
