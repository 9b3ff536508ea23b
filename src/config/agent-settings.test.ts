import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RedisAgentSettings } from '../agent/redis/settings.ts';
import { type AgentSettings, parseAgentSettings } from './agent-settings.ts';
import { AGENT_OPTIONS } from './options/agent.ts';
import { AGENT_GROUPS } from './options/option.ts';
import { type Environment, rowsOf } from './options/option-table.ts';

const POD = { CLUSTER_NAME: 'redis', POD_NAME: 'redis-0', POD_NAMESPACE: 'shop' };

function settings(argv: readonly string[], env: Environment = {}): AgentSettings {
  const parsed = parseAgentSettings(argv, { ...POD, ...env });
  if (!parsed.ok) throw new Error(parsed.problems.join('\n'));
  return parsed.settings;
}

function problems(argv: readonly string[], env: Environment = POD): readonly string[] {
  const parsed = parseAgentSettings(argv, env);
  return parsed.ok ? [] : parsed.problems;
}

test('with the three names alone everything is where a pod has it', () => {
  const { logFormat, logLevel, kubeconfig, context, ...agent } = settings([]);
  // The agent takes them as its own settings.
  expect(agent satisfies RedisAgentSettings).toEqual({
    clusterName: 'redis',
    podName: 'redis-0',
    podNamespace: 'shop',
    podIp: '',
    mode: 'parent',
    strict: false,
    paths: {
      dataDir: '/data',
      stateDir: '/data/.attune',
      secretsDir: '/projected',
      tlsDir: '/tls',
      aclFile: '/data/users.acl',
      socket: '/data/.attune/redis.sock',
    },
    redisServer: 'redis-server',
    redisAddress: { host: '127.0.0.1', port: 6379 },
    bindAddress: '',
    listen: { host: '', port: 8080 },
    stopTimeoutMs: 20_000,
    resyncMs: 30_000,
    statusIntervalMs: 5000,
  });
  expect([logFormat, logLevel, kubeconfig, context]).toEqual(['', 'info', '', '']);
});

describe('names', () => {
  test('each that is missing is told with its flag and its variable', () => {
    expect(problems([], {})).toEqual([
      '--cluster-name, or the variable CLUSTER_NAME, is missing',
      '--pod-name, or the variable POD_NAME, is missing',
      '--pod-namespace, or the variable POD_NAMESPACE, is missing',
    ]);
  });

  test('a flag beats its variable, an empty flag leaves it to it', () => {
    expect(settings(['--pod-name=redis-1', '--cluster-name=']).podName).toBe('redis-1');
    expect(settings(['--pod-name=redis-1', '--cluster-name=']).clusterName).toBe('redis');
    expect(problems(['--pod-name='], { ...POD, POD_NAME: ' ' })).toHaveLength(1);
  });

  test('what is no name is a problem: it would lead to another path of the API', () => {
    expect(problems(['--cluster-name=a/b', '--pod-name=..', '--pod-namespace=A'])).toEqual([
      '--cluster-name must be a name as Kubernetes has them, not "a/b"',
      '--pod-name must be a name as Kubernetes has them, not ".."',
      '--pod-namespace must be a name as Kubernetes has them, not "A"',
    ]);
  });
});

test('a role is data; of Sentinel it is said why not', () => {
  expect(problems(['--role=data'])).toEqual([]);
  expect(problems(['--role=sentinel'])).toEqual([
    expect.stringMatching(/^--role=sentinel is not supported: .*redis-sentinel without an agent/),
  ]);
  expect(problems(['--role', 'Data'])).toEqual(['--role must be data, not "Data"']);
});

describe('paths', () => {
  test('follow the data folder and the state folder', () => {
    expect(settings(['--data-dir=/srv/redis/']).paths).toMatchObject({
      dataDir: '/srv/redis',
      stateDir: '/srv/redis/.attune',
      aclFile: '/srv/redis/users.acl',
      socket: '/srv/redis/.attune/redis.sock',
    });
    expect(settings(['--state-dir=/state']).paths.socket).toBe('/state/redis.sock');
  });

  test('each has a flag and a variable', () => {
    const env = {
      ATTUNE_REDIS_DATA_DIR: '/1',
      ATTUNE_REDIS_STATE_DIR: '/2',
      REDIS_OPERATOR_PROJECTED_SECRETS_DIR: '/3',
      ATTUNE_REDIS_TLS_DIR: '/4',
      REDIS_OPERATOR_ACL_FILE_PATH: '/5',
      ATTUNE_REDIS_SOCKET: '/6',
    };
    const paths = { dataDir: '/1', stateDir: '/2', secretsDir: '/3', tlsDir: '/4', aclFile: '/5', socket: '/6' };
    expect(settings([], env).paths).toEqual(paths);
    const flags = ['--data-dir', '--state-dir', '--secrets-dir', '--tls-dir', '--acl-file', '--socket'];
    const given = flags.map((flag, at) => `${flag}=/${at + 1}`);
    expect(settings(given).paths).toEqual(paths);
    // As a manifest has them that sets a variable to nothing.
    expect(settings([], { REDIS_OPERATOR_ACL_FILE_PATH: '' }).paths.aclFile).toBe('/data/users.acl');
  });

  test('a sidecar has a socket only if one is named', () => {
    expect(settings(['--mode', 'sidecar']).paths.socket).toBe('');
    expect(settings(['--mode', 'sidecar', '--socket=/run/r.sock']).paths.socket).toBe('/run/r.sock');
  });

  test('relative paths and too long sockets are problems, all told at once', () => {
    expect(problems(['--data-dir=data', '--tls-dir=./tls', '--redis-server=bin/redis'])).toEqual([
      '--data-dir must be a path that begins with /, not "data"',
      '--tls-dir must be a path that begins with /, not "./tls"',
      '--redis-server must be the name of a program, or a path that begins with /, not "bin/redis"',
    ]);
    expect(problems([`--data-dir=/${'é'.repeat(43)}`])).toEqual([]);
    expect(problems([`--data-dir=/${'é'.repeat(44)}`])).toEqual([expect.stringContaining('may have 107 bytes')]);
  });
});

test('ATTUNE_LISTEN_ADDRESS is for Redis, and for --listen where that names no host', () => {
  const env = { ATTUNE_LISTEN_ADDRESS: '127.0.0.5', POD_IP: '127.0.0.5' };
  expect(settings([], env)).toMatchObject({
    bindAddress: '127.0.0.5',
    listen: { host: '127.0.0.5', port: 8080 },
    podIp: '127.0.0.5',
  });
  expect(settings(['--listen=[::1]:81'], env)).toMatchObject({
    bindAddress: '127.0.0.5',
    listen: { host: '::1', port: 81 },
  });
});

test.each([
  [['--mode=both'], '--mode must be one of parent, sidecar, not "both"'],
  [['--compat=stakater'], '--compat must be one of safe, strict, not "stakater"'],
  [['--listen=8080'], '--listen must be host:port or :port, like :8080, not "8080"'],
  [['--redis-address=redis'], '--redis-address must be host:port or :port, like 127.0.0.1:6379, not "redis"'],
  [['--redis-address=redis:0'], '--redis-address must name a port from 1 to 65535'],
  [['--stop-timeout=0s'], '--stop-timeout must be more than 0 and at most 24h'],
  [['--resync=0.1ms'], '--resync must be more than 0 and at most 24h'],
  [['--status-interval=25h'], '--status-interval must be more than 0 and at most 24h'],
  [['--status-interval=5'], '--status-interval must be a duration like 1s, 500ms or 1h30m, not "5"'],
  [['--log-level=loud'], expect.stringMatching(/^--log-level must be one of trace, .*, not "loud"$/)],
  [['--admission'], 'unknown flag: --admission'],
  [['hunter2'], expect.not.stringContaining('hunter2')],
])('%j is a problem', (argv, problem) => {
  expect(problems(argv)).toEqual([problem]);
});

test('an address that is none is a problem', () => {
  expect(problems([], { ...POD, POD_IP: 'redis-0', ATTUNE_LISTEN_ADDRESS: 'a b' })).toEqual([
    'POD_IP must be an IP address, not "redis-0"',
    'ATTUNE_LISTEN_ADDRESS must be one host, not "a b"',
  ]);
});

test('the rest as it is written', () => {
  expect(
    settings(['--compat=strict', '--redis-address', ':7000', '--redis-server=/usr/bin/valkey-server']),
  ).toMatchObject({
    strict: true,
    redisAddress: { host: '127.0.0.1', port: 7000 },
    redisServer: '/usr/bin/valkey-server',
  });
});

test('help is asked for before anything is required', () => {
  expect(parseAgentSettings(['--help'], {})).toEqual({ ok: false, problems: [], help: true });
});

test('every option is in a group of its own table, and every group has one', () => {
  const groups = rowsOf(AGENT_OPTIONS).map(([, { group }]) => group);
  expect(new Set(groups)).toEqual(new Set(Object.keys(AGENT_GROUPS)));
});

test('nothing throws, whatever is given', () => {
  const flag = fc.constantFrom(...rowsOf(AGENT_OPTIONS).flatMap(([, option]) => option.flag ?? []));
  const word = fc.oneof(
    fc.string(),
    fc.tuple(flag, fc.string()).map(([name, value]) => `--${name}=${value}`),
  );
  fc.assert(fc.property(fc.array(word), (argv) => void parseAgentSettings(argv, POD)));
});
