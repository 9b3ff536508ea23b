import { expect, test } from 'vitest';
import type { InstanceEntry } from './cluster-view.ts';
import { awayEntry, ownPart, settledPart, statusPatch } from './status-patch.ts';

const patchOf = (before: InstanceEntry, after: InstanceEntry) =>
  statusPatch('redis-0', before, after) as { status: { instancesStatus: Record<string, unknown> } } | undefined;

test('only what changed, and null for what is gone', () => {
  const before: InstanceEntry = {
    role: 'slave',
    connected: true,
    masterLinkStatus: 'up',
    config: { hz: { state: 'Applied', value: '10' }, timeout: { state: 'Refused', message: 'no' } },
  };
  const after: InstanceEntry = {
    role: 'master',
    connected: true,
    connectedReplicas: 2,
    config: { hz: { state: 'Applied', value: '20' } },
  };
  expect(patchOf(before, after)).toEqual({
    status: {
      instancesStatus: {
        'redis-0': {
          role: 'master',
          connectedReplicas: 2,
          masterLinkStatus: null,
          config: { hz: { value: '20' }, timeout: null },
        },
      },
    },
  });
});

test('nothing where nothing changed; ST7 an entry that was not there is made', () => {
  const entry: InstanceEntry = { role: 'master', tls: { state: 'Applied', trusted: ['a'] } };
  expect(patchOf(entry, entry)).toBeUndefined();
  expect(patchOf({}, {})).toBeUndefined();
  expect(patchOf({}, entry)?.status.instancesStatus['redis-0']).toEqual(entry);
});

test('lists are replaced', () => {
  const of = (...trusted: string[]): InstanceEntry => ({ tls: { state: 'Applied', trusted } });
  expect(patchOf(of('a', 'b'), of('b'))?.status.instancesStatus['redis-0']).toEqual({ tls: { trusted: ['b'] } });
});

test('ST6 what others write into the entry is not ours to remove', () => {
  const there = { role: 'slave', lastSeenAt: 'now', nodeID: 'n' } as InstanceEntry;
  expect(patchOf(ownPart(there), { role: 'slave' })).toBeUndefined();
  // Where the entry is replaced as a whole, it is.
  expect(patchOf(there, { role: 'slave' })?.status.instancesStatus['redis-0']).toEqual({
    lastSeenAt: null,
    nodeID: null,
  });
});

test('numbers that move all the time are no transition', () => {
  expect(settledPart({ role: 'master', replicationOffset: 1, keys: 1 })).toBe(
    settledPart({ role: 'master', replicationOffset: 2, keys: 5 }),
  );
  expect(settledPart({ role: 'master' })).not.toBe(settledPart({ role: 'slave' }));
  expect(settledPart({ masterLinkStatus: 'up' })).not.toBe(settledPart({ masterLinkStatus: 'down' }));
});

test('A11 a Redis that does not answer is not connected and has no role; that it held data is not forgotten', () => {
  const before: InstanceEntry = {
    role: 'slave',
    connected: true,
    masterLinkStatus: 'up',
    keys: 3,
    replicationOffset: 7,
  };
  const entry = awayEntry(before, { state: 'Stopped' });
  expect(patchOf(before, entry)?.status.instancesStatus['redis-0']).toEqual({
    role: null,
    connected: false,
    masterLinkStatus: null,
    state: 'Stopped',
  });
});
