import { describe, expect, it, test } from 'vitest';
import type { ClusterView } from './cluster-view.ts';
import type { Replication } from './info.ts';
import { parseCluster } from './parse-cluster.ts';
import { emptyPrimary, roleAction, unfollowable, wantedRole } from './role.ts';

const clusterOf = (spec: object, status: object = {}, annotations = {}): ClusterView => {
  const metadata = { name: 'redis', namespace: 'shop', uid: 'u', resourceVersion: '1', annotations };
  return parseCluster({ metadata, spec, status } as never);
};

const primary = { role: 'master', offset: 1, connectedReplicas: 0, replid: '', replicas: [] } as unknown as Replication;
const replicaOf = (host: string, port = 6379): Replication =>
  ({ ...primary, role: 'slave', master: { host, port, linkUp: true, syncing: false } }) as Replication;

const PRIMARY = { host: '10.0.0.1', port: 6379 };

describe('standard mode', () => {
  const mine = wantedRole(clusterOf({}, { currentPrimary: 'redis-0' }), 'redis-0', false);
  const other = wantedRole(clusterOf({}, { currentPrimary: 'redis-1' }), 'redis-0', false);

  it.each([
    ['R6', mine, replicaOf('10.0.0.9'), { kind: 'promote', reason: 'PromotedToPrimary' }],
    ['R7', other, primary, { kind: 'follow', upstream: PRIMARY, reason: 'DemotedToReplica', demotes: true }],
    [
      'R8 host',
      other,
      replicaOf('10.0.0.9'),
      { kind: 'follow', upstream: PRIMARY, reason: 'ReplicaReconfigured', demotes: false },
    ],
    [
      'R8 port',
      other,
      replicaOf('10.0.0.1', 6380),
      { kind: 'follow', upstream: PRIMARY, reason: 'ReplicaReconfigured', demotes: false },
    ],
    ['R9', mine, primary, undefined],
    ['R10', other, replicaOf('10.0.0.1'), undefined],
  ] as const)('%s', (_, wanted, replication, action) => {
    for (const strict of [false, true]) expect(roleAction(wanted, PRIMARY, replication, strict)).toEqual(action);
  });

  it('A8 nobody is named: no opinion; in strict the pod with the empty name is followed', () => {
    expect(wantedRole(clusterOf({}), 'redis-0', false)).toEqual({ kind: 'leave' });
    expect(wantedRole(clusterOf({}), 'redis-0', true)).toEqual({ kind: 'follow-pod', pod: '' });
  });

  it('A15 Sentinel decides, and a Redis Cluster decides for itself', () => {
    const status = { currentPrimary: 'redis-1' };
    for (const pod of ['redis-0', 'redis-1'])
      expect(wantedRole(clusterOf({ mode: 'sentinel' }, status), pod, false)).toEqual({ kind: 'leave' });
    expect(wantedRole(clusterOf({ mode: 'sentinel' }, status), 'redis-0', true)).toMatchObject({ kind: 'follow-pod' });
    for (const strict of [false, true])
      expect(wantedRole(clusterOf({ mode: 'cluster' }, status), 'redis-0', strict)).toEqual({ kind: 'leave' });
  });
});

describe('replica mode', () => {
  const source = { host: ' far.example ', port: 7000 };
  const of = (more: object, currentPrimary = 'redis-0', pod = 'redis-0') =>
    wantedRole(clusterOf({ replicaMode: { enabled: true, source, ...more } }, { currentPrimary }), pod, false);
  const upstream = { host: 'far.example', port: 7000 };

  it('R1 host and port, 6379 without a word', () => {
    expect(of({})).toEqual({ kind: 'follow-source', ...upstream });
    expect(of({ source: { host: 'far' } })).toEqual({ kind: 'follow-source', host: 'far', port: 6379 });
  });

  it('R2 promoted only where it is the one that is named; strict says so whatever it is', () => {
    const promoted = of({ promote: true });
    const action = { kind: 'promote', reason: 'ReplicaModePromoteRequested' };
    expect(roleAction(promoted, undefined, replicaOf('far.example', 7000), false)).toEqual(action);
    expect(roleAction(promoted, undefined, primary, false)).toBeUndefined();
    expect(roleAction(promoted, undefined, primary, true)).toEqual(action);
    expect(of({ promote: true }, 'redis-1')).toEqual({ kind: 'follow-source', ...upstream });
  });

  it.each([
    ['R3 a primary', primary, true],
    ['R3 a replica of another', replicaOf('10.0.0.1'), true],
    ['R3 a replica of another port', replicaOf('far.example'), true],
    ['R4 already right, whatever the letters', replicaOf('FAR.example', 7000), false],
  ])('%s', (_, replication, acts) => {
    const action = roleAction(of({}), upstream, replication, false);
    expect(action?.reason).toBe(acts ? 'ReplicaModeSourceUpdated' : undefined);
  });

  it('R5 the one that is named follows the source as well', () => {
    expect(of({}, 'redis-0')).toEqual(of({}, 'redis-1'));
  });

  it('switched off it is the standard mode', () => {
    expect(of({ enabled: false })).toEqual({ kind: 'primary', reason: 'PromotedToPrimary' });
  });
});

test.each([
  ['no pod', undefined, /"redis-1", which does not exist/],
  ['no address', { ip: '', isTerminating: false }, /no address yet/],
  ['our own address', { ip: '10.0.0.5', isTerminating: false }, /own address/],
  ['a pod that goes', { ip: '10.0.0.1', isTerminating: true }, /being deleted/],
])('A9 %s is not followed', (_, pod, words) => {
  expect(unfollowable('redis-1', pod, '10.0.0.5')).toMatch(words);
});

test('A9 any other pod is', () => {
  expect(unfollowable('redis-1', { ip: '10.0.0.1', isTerminating: false }, '10.0.0.5')).toBeUndefined();
});

describe('a primary without data', () => {
  const what = 'its data folder is empty';
  const withPeer = (entry: object, annotations = {}) =>
    emptyPrimary(
      clusterOf({}, { instancesStatus: { 'redis-0': { keys: 9 }, 'redis-1': entry } }, annotations),
      'redis-0',
      what,
    );

  it('is refused with the way out where another has reported some', () => {
    expect(withPeer({ keys: 3 })).toMatch(
      /redis-1 has reported 3 keys.*Set status.currentPrimary to redis-1.*empty-primary/,
    );
    expect(withPeer({ replicationOffset: 70 })).toMatch(/offset 70/);
  });

  it.each([
    ['nobody has any', { keys: 0, replicationOffset: 70 }, {}],
    ['nobody says so', {}, {}],
    ['somebody allows it', { keys: 3 }, { 'attune.dev/allow-dangerous': 'maxmemory, empty-primary' }],
  ])('not where %s', (_, entry, annotations) => {
    expect(withPeer(entry, annotations)).toBeUndefined();
  });
});
