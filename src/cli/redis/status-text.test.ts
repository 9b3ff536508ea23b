import { describe, expect, it, test } from 'vitest';
import { clusterReport, isFine } from './cluster-report.ts';
import { clusterList, clusterText } from './status-text.ts';

const PAGE = { width: 110, colour: false };
const NOW = Date.parse('2026-01-02T03:04:00Z');

interface Given {
  readonly spec?: object;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly primary?: string;
  readonly entries?: Readonly<Record<string, object>>;
}

const cluster = ({ spec = {}, annotations = {}, primary = 'redis-0', entries = {} }: Given) => ({
  metadata: { namespace: 'shop', name: 'redis', uid: 'u', resourceVersion: '1', generation: 3, annotations },
  spec,
  status: { currentPrimary: primary, instancesStatus: entries },
});

const PRIMARY = {
  role: 'master',
  connected: true,
  replicationOffset: 5_000_000,
  connectedReplicas: 2,
  state: 'Running',
  keys: 1200,
  observedGeneration: 3,
  config: { maxmemory: { state: 'Applied', value: '268435456' }, timeout: { state: 'Applied', value: '0' } },
  credentials: { id: 'a', phase: 'Settled' },
  tls: { state: 'Applied', phase: 'Settled', notAfter: '2027-01-01T00:00:00Z' },
};
const REPLICA = {
  ...PRIMARY,
  role: 'slave',
  connectedReplicas: undefined,
  masterLinkStatus: 'up',
  replicationOffset: 4_998_500,
};
const ALL = { 'redis-0': PRIMARY, 'redis-1': REPLICA, 'redis-2': { ...REPLICA, replicationOffset: 5_000_100 } };

const textOf = (given: Given, exists: (pod: string) => boolean | undefined = () => true): string =>
  clusterText(clusterReport(cluster(given), exists), PAGE, NOW);
const reportOf = (given: Given, exists: (pod: string) => boolean | undefined = () => true) =>
  clusterReport(cluster(given), exists);

test('a cluster in which all is well is a headline and a table', () => {
  expect(textOf({ entries: ALL })).toBe(
    [
      'RedisCluster shop/redis',
      '  mode     standalone',
      '  primary  redis-0',
      '',
      'POD      ROLE     LINK        OFFSET   BEHIND  KEYS  STATE    CONFIG     PASSWORD  TLS',
      'redis-0  primary  2 replicas  5000000  -       1200  Running  2 applied  Settled   Settled',
      'redis-1  replica  up          4998500  1.5 kB  1200  Running  2 applied  Settled   Settled',
      'redis-2  replica  up          5000100  0 B     1200  Running  2 applied  Settled   Settled',
      '',
    ].join('\n'),
  );
  expect(isFine(reportOf({ entries: ALL }))).toBe(true);
});

test('what was refused and what waits is told below with its reason, once for all pods that say the same', () => {
  const config = {
    'io-threads': { state: 'RestartNeeded', value: '1', message: 'it counts from the next start on' },
    maxclients: { state: 'Refused', value: '10000', message: 'below 32 nobody could look after it any more' },
    requirepass: { state: 'Refused', message: 'it belongs into the Secret' },
  };
  const spec = { redis: { 'io-threads': '4', maxclients: '1', requirepass: 'hunter2' } };
  const entries = {
    'redis-0': { ...PRIMARY, config },
    'redis-1': { ...REPLICA, config },
    'redis-2': { ...REPLICA, state: 'Degraded', message: 'the disk is full' },
  };
  const text = textOf({ spec, entries });
  expect(text).toContain('0 applied, 2 refused, 1 at restart');
  expect(text.slice(text.indexOf('\nredis-0, redis-1'))).toBe(
    [
      '',
      'redis-0, redis-1',
      '  refused  maxclients 1: below 32 nobody could look after it any more; it stays 10000',
      '  refused  requirepass: it belongs into the Secret',
      '  restart  io-threads 4: it counts from the next start on',
      '',
      'redis-2',
      '  state  the disk is full',
      '',
    ].join('\n'),
  );
  expect(isFine(reportOf({ entries }))).toBe(false);
});

test('what waits for a restart is no fault', () => {
  const config = { databases: { state: 'RestartNeeded' } };
  const entries = { 'redis-0': { ...PRIMARY, config } };
  expect(textOf({ entries })).toContain('restart  databases: Redis takes it only at its start');
  expect(isFine(reportOf({ entries }))).toBe(true);
});

test('long words are wrapped within the page', () => {
  const config = { 'lua-time-limit': { state: 'Refused', value: 'x', message: 'word '.repeat(60).trim() } };
  const lines = textOf({ entries: { 'redis-0': { ...PRIMARY, config } } }).split('\n');
  expect(lines.filter((line) => line.length > PAGE.width)).toEqual([]);
  expect(lines.filter((line) => line.includes('word word')).length).toBeGreaterThan(2);
});

describe('a narrow page', () => {
  const config = { a: { state: 'Refused', message: 'no' }, b: { state: 'RestartNeeded' } };
  const entries = { 'redis-0': PRIMARY, 'redis-1': { ...REPLICA, masterLinkStatus: 'down', config } };
  const linesAt = (width: number): readonly string[] =>
    clusterText(reportOf({ entries }), { width, colour: false }, NOW).split('\n');
  const headingAt = (width: number) => linesAt(width).find((line) => line.startsWith('POD'));

  it.each([
    [115, 'POD ROLE LINK OFFSET BEHIND KEYS STATE CONFIG PASSWORD TLS'],
    [114, 'POD ROLE LINK BEHIND KEYS STATE CONFIG PASSWORD TLS'],
    [105, 'POD ROLE LINK KEYS STATE CONFIG PASSWORD TLS'],
    [97, 'POD ROLE LINK STATE CONFIG PASSWORD TLS'],
    [91, 'POD ROLE LINK STATE CONFIG PASSWORD'],
    [82, 'POD ROLE LINK STATE CONFIG'],
    [72, 'POD ROLE STATE CONFIG'],
    [61, 'POD ROLE STATE CONFIG'],
  ])('of %d has these columns', (width, columns) => {
    expect(headingAt(width)?.replace(/ +/g, ' ')).toBe(columns);
    expect(linesAt(width).filter((line) => line.length > width)).toEqual([]);
  });

  it('for which not even four are few enough has a block per pod, which leaves nothing out', () => {
    const lines = linesAt(60);
    expect(lines.slice(4, 25)).toEqual([
      'redis-0',
      '  role      primary',
      '  link      2 replicas',
      '  offset    5000000',
      '  keys      1200',
      '  state     Running',
      '  config    2 applied',
      '  password  Settled',
      '  tls       Settled',
      '',
      'redis-1',
      '  role      replica',
      '  link      down',
      '  offset    4998500',
      '  behind    1.5 kB',
      '  keys      1200',
      '  state     Running',
      '  config    0 applied, 1 refused, 1 at restart',
      '  password  Settled',
      '  tls       Settled',
      '',
    ]);
    expect(lines.filter((line) => line.length > 60)).toEqual([]);
  });

  it('tells a link that is down though its column is gone', () => {
    expect(linesAt(61)).toContain('  link     down: nothing comes from its primary');
  });

  it('colours count for nothing', () => {
    const text = clusterText(reportOf({ entries: ALL }), { width: 90, colour: true }, NOW);
    expect(text).toContain('OFFSET');
  });
});

test('what another row says is not said by the state too', () => {
  const acl = '/projected/acl/acl: line 3: unknown category; the users stay';
  const certificate = 'is not for clients; give it both usages';
  const message = [
    'spec.mode: must be standalone, sentinel, cluster',
    'config: the disk is full',
    acl,
    `/tls/tls.crt: ${certificate}`,
  ].join('; ');
  const sick = {
    ...PRIMARY,
    state: 'Degraded',
    message,
    acl: { state: 'Refused', message: acl },
    tls: { state: 'Refused', message: `/tls/tls.crt ${certificate}; waits for redis-1` },
  };
  const text = textOf({ spec: { mode: 'triple' }, entries: { 'redis-0': sick } });
  expect(text).toMatch(/^ {2}state {2}config: the disk is full$/m);
  expect(text.match(/line 3/g)).toHaveLength(1);
  expect(text.match(/not for clients/g)).toHaveLength(1);
  expect(textOf({ entries: { 'redis-0': { ...sick, message: acl } } })).not.toMatch(/^ {2}state/m);
});

test('phases that are under way say since when and what they wait for', () => {
  const entries = {
    'redis-0': {
      ...PRIMARY,
      credentials: { phase: 'Accepted', since: '2026-01-02T03:01:00Z', message: 'waits for redis-1' },
      acl: { state: 'Refused', message: 'line 3: unknown command category' },
      tls: { state: 'Waiting', phase: 'Trusted', notAfter: '2026-01-04T00:00:00Z', message: 'waits for redis-1' },
    },
  };
  const text = textOf({ entries });
  expect(text).toMatch(/^ {2}password +Accepted for 3 min: waits for redis-1$/m);
  expect(text).toMatch(/^ {2}ACL +Refused: line 3: unknown command category$/m);
  expect(text).toMatch(/^ {2}TLS +Trusted: waits for redis-1$/m);
  expect(text).toMatch(/^ {2}certificate +expires in 44 h$/m);
});

describe('entries and pods', () => {
  it('an entry whose pod is gone is told as old', () => {
    const exists = (pod: string) => pod !== 'redis-2';
    const text = textOf({ entries: ALL }, exists);
    expect(text).toMatch(/^redis-2 .* gone /m);
    expect(text).toContain('  gone  there is no such pod: its entry is old');
    expect(isFine(reportOf({ entries: ALL }, exists))).toBe(true);
    expect(isFine(reportOf({ entries: ALL }, (pod) => pod !== 'redis-0'))).toBe(false);
  });

  it('a primary that has said nothing is in the table', () => {
    const given = { primary: 'redis-9', entries: { 'redis-10': REPLICA } };
    expect(textOf(given)).toMatch(/^redis-9 .*has not reported/m);
    expect(reportOf(given).pods.map(({ name }) => name)).toEqual(['redis-9', 'redis-10']);
    expect(isFine(reportOf(given))).toBe(false);
  });

  it('none at all', () => {
    expect(textOf({ primary: '' })).toContain('No pod has reported yet');
    expect(textOf({ primary: '' })).toContain('nobody has said who it is');
    expect(isFine(reportOf({ primary: '' }))).toBe(false);
  });

  it('one that is about an older version says so', () => {
    expect(textOf({ entries: { 'redis-0': { ...PRIMARY, observedGeneration: 2 } } })).toContain('Running (behind)');
  });

  it('a link that is down is a fault', () => {
    const entries = { 'redis-0': PRIMARY, 'redis-1': { ...REPLICA, masterLinkStatus: 'down' } };
    expect(isFine(reportOf({ entries }))).toBe(false);
  });
});

describe('fence', () => {
  const stopped = { connected: false, state: 'Fenced' };
  it.each(['["redis-1"]', '["*"]'])('%s', (annotation) => {
    const annotations = { 'redis.io/fencedInstances': annotation };
    expect(textOf({ annotations, entries: { 'redis-1': stopped }, primary: 'redis-1' })).toMatch(/fenced +redis-1$/m);
    expect(isFine(reportOf({ annotations, entries: { 'redis-1': stopped }, primary: 'redis-1' }))).toBe(true);
  });

  it('an annotation that nobody can read is told', () => {
    const annotations = { 'redis.io/fencedInstances': 'redis-1' };
    expect(textOf({ annotations, entries: ALL })).toContain('what was decided before it stays');
    expect(isFine(reportOf({ annotations, entries: ALL }))).toBe(false);
  });
});

test('replica mode: from where, and no lag to a primary that is elsewhere', () => {
  const spec = { replicaMode: { enabled: true, promote: true, source: { host: 'far', port: 6380 } } };
  expect(textOf({ spec, entries: ALL })).toMatch(/replica of +far:6380; promotion is asked for/);
  expect(reportOf({ spec, entries: ALL }).pods.map(({ lag }) => lag)).toEqual([undefined, undefined, undefined]);
});

test('what is wrong with the object itself is told with its field', () => {
  const spec = { mode: 'triple' };
  expect(textOf({ spec, entries: ALL })).toContain('wrong    spec.mode must be standalone, sentinel, cluster');
});

test('entries of another writer: wrong types do no harm', () => {
  const entries = {
    'redis-0': { role: 7, connected: 'yes', replicationOffset: '9', config: ['x'], credentials: 'x', tls: null },
    'redis-1': { ...REPLICA, state: 'Degraded', message: 'a message' },
  };
  expect(textOf({ entries })).toContain('a message');
  // Other operators write no state.
  expect(textOf({ entries: { 'redis-0': { role: 'master', connected: true } } })).toContain('Running');
});

test('colour where it is welcome', () => {
  expect(clusterText(reportOf({ entries: ALL }), { width: 100, colour: true }, NOW)).toContain('\x1b[32mRunning');
});

test('several are a line each', () => {
  const sick = { 'redis-0': { ...PRIMARY, connected: false, state: 'Starting' } };
  expect(clusterList([reportOf({ entries: ALL }), reportOf({ entries: sick })], PAGE)).toBe(
    [
      'NAME   MODE        PRIMARY  PODS  KEYS  STATE',
      'redis  standalone  redis-0  3     1200  fine',
      'redis  standalone  redis-0  1     1200  redis-0: Starting, redis-0: not connected',
      '',
    ].join('\n'),
  );
});
