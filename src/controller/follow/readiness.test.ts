import { describe, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { kindNamed } from '../../api/kinds.ts';
import { CONFIG_MAPS, NAMESPACES, type Resource, SECRETS } from '../../api/resources.ts';
import { KubeError } from '../../kube/kube-error.ts';
import type { FollowedKind, Role } from './followed-kind.ts';
import { Readiness } from './readiness.ts';

const DEPLOYMENTS = kindNamed('Deployment') as Resource;
const JOBS = kindNamed('Job') as Resource;
const forbidden = new KubeError({ verb: 'list', path: '/x', status: 403, reason: 'Forbidden' });
const unauthorized = new KubeError({
  verb: 'list',
  path: '/x',
  status: 401,
  reason: 'Unauthorized',
  detail: 'api.test:6443 does not accept the token',
});
const down = new KubeError({ verb: 'list', path: '/x', status: 503, reason: 'ServiceUnavailable' });

const ROLES = new Map<Resource, Role>([
  [CONFIG_MAPS, 'source'],
  [SECRETS, 'source'],
  [NAMESPACES, 'namespace'],
]);
const roleOf = (resource: Resource): Role => ROLES.get(resource) ?? 'workload';

/** What was said and shown so far, in order. */
function world({ compat = false, workloads = true, elects = false } = {}) {
  const told: string[] = [];
  const stop = new AbortController();
  const readiness = new Readiness({
    signal: stop.signal,
    compat,
    workloads,
    elects,
    report: {
      notReady: ({ message, cure }, wasReady) => told.push(`${wasReady ? 'no more' : 'not'}: ${message}; ${cure}`),
    },
    metrics: { set: (name, _, value) => told.push(`${name} ${value}`) },
    onReady: () => told.push('ready'),
    onUnready: () => told.push('unready'),
  });
  const follow = (...resources: readonly Resource[]): FollowedKind[] =>
    resources.map((resource) => readiness.follows(roleOf(resource), resource, {}));
  const news = () => told.splice(0);
  return { readiness, stop, follow, news };
}

const READY = ['attune_ready 1', 'ready'];
const GRANT_SOURCES = 'grant list and watch on configmaps or secrets';
const nothing = async () => {};

test('ready is who has begun, is prepared, and can follow a source and a workload', async () => {
  const { readiness, follow, news } = world();
  const [configMaps, , deployments] = follow(CONFIG_MAPS, SECRETS, DEPLOYMENTS) as [
    FollowedKind,
    unknown,
    FollowedKind,
  ];
  const prepared = Promise.withResolvers<void>();
  configMaps.listed();
  deployments.listed();
  const begun = readiness.begin(() => prepared.promise);
  prepared.resolve();
  await begun;
  expect(news()).toEqual([]);
  configMaps.watching();
  await eventually(news).toEqual(READY);
});

test('what is missing is told once, when all is known, and again when it is something else', async () => {
  const { readiness, follow, news } = world();
  const kinds = follow(CONFIG_MAPS, SECRETS, DEPLOYMENTS, JOBS);
  const [configMaps, secrets, deployments, jobs] = kinds as [FollowedKind, FollowedKind, FollowedKind, FollowedKind];
  for (const kind of [configMaps, secrets, deployments]) kind.unavailable(forbidden);
  expect(news()).toEqual([]);
  for (const kind of [jobs, jobs, deployments]) kind.unavailable(forbidden);
  expect(news()).toEqual([
    'not: it may not list and watch configmaps or secrets; and it may not list deployments or jobs; ' +
      `${GRANT_SOURCES}, and list, watch and patch on deployments or jobs`,
  ]);
  await readiness.begin(nothing);
  deployments.listed();
  expect(news()).toEqual([`not: it may not list and watch configmaps or secrets; ${GRANT_SOURCES}`]);
  secrets.listed();
  secrets.watching();
  await eventually(news).toEqual(READY);
  secrets.unavailable(forbidden);
  expect(news()).toEqual([
    'attune_ready 0',
    'unready',
    `no more: it may not list and watch configmaps or secrets; ${GRANT_SOURCES}`,
  ]);
  secrets.listed();
  await eventually(news).toEqual(READY);
});

test('who has become able prepares once more before it says so', async () => {
  const { readiness, follow, news } = world();
  const [configMaps, deployments] = follow(CONFIG_MAPS, DEPLOYMENTS) as [FollowedKind, FollowedKind];
  const prepared: (() => void)[] = [];
  const begun = readiness.begin(() => new Promise((resolve) => prepared.push(resolve)));
  for (const kind of [configMaps, deployments]) kind.listed();
  configMaps.watching();
  prepared[0]?.();
  await eventually(() => prepared.length).toBe(2);
  expect(news()).toEqual([]);
  prepared[1]?.();
  await begun;
  expect(news()).toEqual(READY);
});

describe('what does not count', () => {
  test('an outage of what could be listed; a watch that is refused where a listing is enough', async () => {
    const { readiness, follow, news } = world();
    const [configMaps, deployments] = follow(CONFIG_MAPS, DEPLOYMENTS) as [FollowedKind, FollowedKind];
    for (const kind of [configMaps, deployments]) kind.listed();
    configMaps.watching();
    await readiness.begin(nothing);
    expect(news()).toEqual(READY);
    for (const kind of [configMaps, deployments]) kind.failing(down, 100);
    deployments.unwatchable();
    configMaps.failing(unauthorized, 2);
    expect(news()).toEqual([]);
    configMaps.unwatchable();
    expect(news()).toContain('unready');
  });

  test('a kind that is too large to be listed, beside others that are not', async () => {
    const { readiness, follow, news } = world();
    const [configMaps, deployments, jobs] = follow(CONFIG_MAPS, DEPLOYMENTS, JOBS) as [
      FollowedKind,
      FollowedKind,
      FollowedKind,
    ];
    jobs.unavailable(new KubeError({ verb: 'list', path: '/x', status: 0, reason: 'TooLarge' }));
    for (const kind of [configMaps, deployments]) kind.listed();
    configMaps.watching();
    expect(news()).toEqual([]);
    await readiness.begin(nothing);
    expect(news()).toEqual(READY);
  });

  test('anything, once the end has been asked for', async () => {
    const { readiness, follow, news, stop } = world();
    const [configMaps, deployments] = follow(CONFIG_MAPS, DEPLOYMENTS) as [FollowedKind, FollowedKind];
    stop.abort();
    await readiness.begin(nothing);
    for (const kind of [configMaps, deployments]) kind.listed();
    configMaps.watching();
    configMaps.unavailable(forbidden);
    readiness.refused(unauthorized);
    await readiness.begin(nothing);
    expect(news()).toEqual([]);
  });

  test('workloads, where changes are only told to somebody', async () => {
    const { readiness, follow, news } = world({ workloads: false });
    const [secrets] = follow(SECRETS) as [FollowedKind];
    secrets.listed();
    secrets.watching();
    await readiness.begin(nothing);
    expect(news()).toEqual(READY);
  });

  test('rights, under --compat=stakater', async () => {
    const { readiness, follow, news } = world({ compat: true });
    for (const kind of follow(CONFIG_MAPS, DEPLOYMENTS)) kind.unavailable(forbidden);
    await readiness.begin(nothing);
    expect(news()).toEqual(READY);
  });
});

test.each([true, false])('a credential that is refused is told as such, once (compat: %s)', async (compat) => {
  const { readiness, follow, news } = world({ compat });
  readiness.refused(unauthorized);
  const kinds = follow(CONFIG_MAPS, DEPLOYMENTS);
  for (const kind of kinds) kind.failing(unauthorized, 3);
  expect(news()).toEqual([expect.stringMatching(/^not: api.test:6443 does not accept the token; renew it/)]);
});

test('a kind that holds up the start is named, though others can be followed', async () => {
  const { follow, news } = world();
  const [configMaps, deployments, jobs] = follow(CONFIG_MAPS, DEPLOYMENTS, JOBS) as [
    FollowedKind,
    FollowedKind,
    FollowedKind,
  ];
  for (const kind of [configMaps, deployments]) kind.listed();
  configMaps.watching();
  for (const failures of [1, 2, 3, 4, 5, 6, 7]) jobs.failing(down, failures);
  expect(news()).toEqual(['not: jobs cannot be followed: list /x: 503 ServiceUnavailable; undefined']);
});

test('a source whose watch never begins is named, too', async () => {
  const { readiness, follow, news } = world();
  const [configMaps, deployments] = follow(CONFIG_MAPS, DEPLOYMENTS) as [FollowedKind, FollowedKind];
  for (const kind of [configMaps, deployments]) kind.listed();
  await readiness.begin(nothing);
  for (const failures of [1, 2, 3, 4, 5, 6, 7]) configMaps.failing(down, failures);
  expect(news()).toEqual([expect.stringContaining('not: configmaps cannot be followed: list /x: 503')]);
  configMaps.watching();
  await eventually(news).toEqual(READY);
});

test('who is to see only some namespaces has to see which', async () => {
  const { readiness, follow, news } = world();
  const [namespaces, configMaps, deployments] = follow(NAMESPACES, CONFIG_MAPS, DEPLOYMENTS) as [
    FollowedKind,
    FollowedKind,
    FollowedKind,
  ];
  for (const kind of [configMaps, deployments]) kind.listed();
  configMaps.watching();
  namespaces.unavailable(forbidden);
  await readiness.begin(nothing);
  expect(news()).toEqual(['not: it may not list namespaces; grant list and watch on namespaces']);
});

test('source and workload have to be in the same namespace', async () => {
  const { readiness, news } = world();
  const at = (resource: Resource, namespace: string) => readiness.follows(roleOf(resource), resource, { namespace });
  const sources = ['a', 'b'].map((name) => at(CONFIG_MAPS, name)) as [FollowedKind, FollowedKind];
  const workloads = ['a', 'b'].map((name) => at(DEPLOYMENTS, name)) as [FollowedKind, FollowedKind];
  await readiness.begin(nothing);
  sources[0].listed();
  sources[0].watching();
  sources[1].unavailable(forbidden);
  workloads[0].unavailable(forbidden);
  workloads[1].listed();
  expect(news()).toEqual([expect.stringMatching(/^not: nowhere .* in the same namespace; grant .*, in one namespace/)]);
  workloads[0].listed();
  await eventually(news).toEqual(READY);
});

test('who may not be elected is not ready to take over', async () => {
  const { readiness, follow, news } = world({ elects: true });
  const [configMaps, deployments] = follow(CONFIG_MAPS, DEPLOYMENTS) as [FollowedKind, FollowedKind];
  for (const kind of [configMaps, deployments]) kind.listed();
  configMaps.watching();
  await readiness.begin(nothing);
  expect(news()).toEqual([]);
  readiness.leaseRefused(forbidden);
  expect(news()).toEqual([expect.stringMatching(/^not: it may not take part in the election.*; grant get, watch/)]);
  readiness.leaseRefused(undefined);
  await eventually(news).toEqual(READY);
});
