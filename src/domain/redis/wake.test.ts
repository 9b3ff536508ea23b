import { expect, test } from 'vitest';
import { wakingPart } from './wake.ts';

const object = {
  metadata: { name: 'redis', uid: 'u', resourceVersion: '1', annotations: { note: 'x' } },
  spec: { redis: { hz: '10' } },
  status: {
    currentPrimary: 'redis-0',
    phase: 'Healthy',
    instancesStatus: {
      'redis-0': { role: 'master', replicationOffset: 1 },
      'redis-1': {
        replicationOffset: 1,
        credentials: { id: 'a', phase: 'Accepted', since: 's' },
        tls: { trusted: ['x'] },
      },
    },
  },
};
const partOf = (changed: object) => wakingPart({ ...object, ...changed } as never, 'redis-0');
const withEntries = (entries: object) => ({
  status: { ...object.status, instancesStatus: { ...object.status.instancesStatus, ...entries } },
});
const peer = object.status.instancesStatus['redis-1'];

test.each([
  ['offsets', withEntries({ 'redis-1': { ...peer, replicationOffset: 2, message: 'm' } })],
  ['our own entry', withEntries({ 'redis-0': { role: 'slave', credentials: { id: 'b' } } })],
  ['what another writer adds', withEntries({ 'redis-1': { ...peer, lastSeenAt: 'now' } })],
  ['when a phase began', withEntries({ 'redis-1': { ...peer, credentials: { ...peer.credentials, since: 't' } } })],
  ['the version', { metadata: { ...object.metadata, resourceVersion: '2', managedFields: [] } }],
  ['an annotation that nobody reads', { metadata: { ...object.metadata, annotations: { note: 'y' } } }],
  ['a phase of the operator', { status: { ...object.status, phase: 'Degraded' } }],
])('A14 %s wakes nobody', (_, changed) => {
  expect(partOf(changed)).toBe(partOf({}));
});

test.each([
  ['spec', { spec: { redis: { hz: '20' } } }],
  ['the primary', { status: { ...object.status, currentPrimary: 'redis-1' } }],
  ['a fence', { metadata: { ...object.metadata, annotations: { 'redis.io/fencedInstances': '[]' } } }],
  ['an allowance', { metadata: { ...object.metadata, annotations: { 'attune.dev/allow-dangerous': 'maxmemory' } } }],
  ['a phase of a peer', withEntries({ 'redis-1': { ...peer, credentials: { id: 'a', phase: 'Used' } } })],
  ['the password of a peer', withEntries({ 'redis-1': { ...peer, credentials: { id: 'b', phase: 'Accepted' } } })],
  ['an authority of a peer', withEntries({ 'redis-1': { ...peer, tls: { trusted: ['x', 'y'] } } })],
  ['a new peer', withEntries({ 'redis-2': {} })],
  ['another object of the name', { metadata: { ...object.metadata, uid: 'v' } }],
])('G2 %s does', (_, changed) => {
  expect(partOf(changed)).not.toBe(partOf({}));
});
