import { describe, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { candidate, type LeaseServer, start, type World } from '../../../test/support/lease-world.ts';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import { LEASES } from '../../api/resources.ts';

/** What the server tells reaches only a watch that has begun; nobody counts those on their way as calls in flight. */
const watched = ({ api }: World) => eventually(() => api.requests.some(({ verb }) => verb === 'watch')).toBe(true);

describe('the first', () => {
  test('creates the lease and renews it every two seconds', async () => {
    const world = await start();
    const a = candidate(world, 'a');
    await a.live(6500);
    expect(a.told).toEqual(['holder ', 'holder a', 'leading']);
    expect(world.server.writes).toEqual(['create a', 'update a', 'update a', 'update a']);
    expect(world.server.lease?.spec).toMatchObject({ leaseDurationSeconds: 15, leaseTransitions: 0 });
    expect(world.server.lease?.spec.renewTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  test('gives the lease back when it is called off', async () => {
    const world = await start();
    const a = candidate(world, 'a');
    await a.live(1000);
    a.stop.abort();
    await a.running;
    expect(world.server.lease?.spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
    expect(a.told).not.toContain('lost');
    expect(a.leadership()?.held()).toBe(false);
  });

  test('gives it back also if a renewal that was broken off has arrived', async () => {
    const world = await start();
    const a = candidate(world, 'a');
    await a.live(1000);
    world.server.set({ renewTime: '2001-09-09T01:46:41.000000Z' });
    a.stop.abort();
    await a.running;
    expect(world.server.lease?.spec.holderIdentity).toBe('');
  });

  test('gives it back also if it is called off while taking it', async () => {
    const world = await start();
    world.server.set({ holderIdentity: '' });
    world.server.stalls = true;
    const a = candidate(world, 'a');
    await eventually(() => world.server.lease?.spec.holderIdentity).toBe('a');
    world.server.stalls = false;
    a.stop.abort();
    await a.running;
    expect(world.server.lease?.spec.holderIdentity).toBe('');
    expect(a.told).not.toContain('leading');
  });

  test('does not take the lease from another when it is called off', async () => {
    const world = await start();
    const a = candidate(world, 'a');
    await a.live(1000);
    world.server.set({ holderIdentity: 'thief' });
    a.stop.abort();
    await a.running;
    expect(world.server.lease?.spec.holderIdentity).toBe('thief');
  });
});

describe('the second', () => {
  test('stands by as long as the first renews', async () => {
    const world = await start();
    const clock = virtualClock(1e12);
    const a = candidate(world, 'a', clock);
    await a.live(500);
    const b = candidate(world, 'b', clock);
    await b.live(60_000);
    expect(b.told).toEqual(['holder a']);
    expect(world.server.writes.filter((write) => write.endsWith('b'))).toEqual([]);
  });

  test.each([
    ['released', (server: LeaseServer) => server.set({ holderIdentity: '', leaseDurationSeconds: 1 })],
    ['deleted', (server: LeaseServer) => server.delete()],
  ])('takes over at once, without time passing, when the lease is %s', async (_, end) => {
    const world = await start();
    world.server.set({ holderIdentity: 'a' });
    const b = candidate(world, 'b');
    await b.live(3000);
    expect(b.told).toEqual(['holder a']);
    await watched(world);
    end(world.server);
    await eventually(() => b.told).toContain('leading');
  });

  test('takes over when the first was silent for the whole duration, by its own clock', async () => {
    const world = await start();
    world.server.set({ holderIdentity: 'a', leaseDurationSeconds: 15, renewTime: '2001-01-01T00:00:00.000000Z' });
    const b = candidate(world, 'b');
    await b.live(14_000);
    expect(b.told).toEqual(['holder a']);
    world.server.set({ renewTime: '2001-01-01T00:00:02.000000Z' });
    await b.live(14_000);
    expect(b.told).toEqual(['holder a']);
    await b.live(1500);
    expect(b.told).toEqual(['holder a', 'holder b', 'leading']);
    expect(world.server.lease?.spec.leaseTransitions).toBe(1);
  });

  test('that the lease of the same holder lasts longer is told', async () => {
    const world = await start();
    world.server.set({ holderIdentity: 'a', leaseDurationSeconds: 15 });
    const b = candidate(world, 'b');
    await b.live(3000);
    await watched(world);
    world.server.set({ leaseDurationSeconds: 2_147_483_647 });
    await eventually(() => b.leaseMs).toEqual([15_000, 2_147_483_647_000]);
  });

  test('edits of the lease by others do not count as life', async () => {
    const world = await start();
    world.server.set({ holderIdentity: 'a', renewTime: 'x' });
    const b = candidate(world, 'b');
    await b.live(10_000);
    world.server.set({});
    await b.live(5500);
    expect(b.told).toContain('leading');
  });

  test('without the right to watch it asks every two seconds', async () => {
    const world = await start();
    world.server.mayWatch = false;
    world.server.set({ holderIdentity: 'a' });
    const b = candidate(world, 'b');
    await b.live(5000);
    world.server.set({ holderIdentity: '' });
    await b.live(2500);
    expect(b.told).toContain('leading');
    expect(world.api.requests.filter((r) => r.verb === 'watch')).toHaveLength(1);
  });
});

describe('a wall clock that is set', () => {
  const HOUR_MS = 3_600_000;

  test.each([-HOUR_MS, 30 * HOUR_MS])('by %i ms: a leader goes on, and renews as ever', async (ms) => {
    const world = await start();
    const a = candidate(world, 'a');
    await a.live(1000);
    const before = world.server.lease?.spec.renewTime ?? '';
    a.clock.jump(ms);
    expect(a.leadership()?.held()).toBe(true);
    await a.live(3500);
    expect(a.told).toEqual(['holder ', 'holder a', 'leading']);
    expect(world.server.writes).toEqual(['create a', 'update a', 'update a']);
    // Which is shown, and nobody's business.
    expect(Date.parse(world.server.lease?.spec.renewTime ?? '') - Date.parse(before)).toBe(4000 + ms);
  });

  test.each([-HOUR_MS, 30 * HOUR_MS])('by %i ms: a standby takes over no earlier and no later', async (ms) => {
    const world = await start();
    world.server.set({ holderIdentity: 'a', leaseDurationSeconds: 15, renewTime: '2001-01-01T00:00:00.000000Z' });
    const b = candidate(world, 'b');
    await b.live(5000);
    b.clock.jump(ms);
    await b.live(9000);
    expect(b.told).toEqual(['holder a']);
    await b.live(1500);
    expect(b.told).toContain('leading');
  });
});

describe('losing it', () => {
  test.each(['hangs', 'fails'] as const)(
    'a leader that cannot renew (server %s) stops at the deadline',
    async (how) => {
      const world = await start();
      const a = candidate(world, 'a');
      await a.live(1900);
      world.server[how] = true;
      await a.live(7500);
      expect(a.told).not.toContain('lost');
      expect(a.leadership()?.held()).toBe(true);
      await a.live(1000);
      expect(a.told).toContain('lost');
      expect(a.leadership()?.held()).toBe(false);
    },
  );

  test('a leader whose kept connections all fell silent renews on a new one before its time is over', async () => {
    const world = await start();
    const a = candidate(world, 'a');
    await a.live(1500);
    const ref = { namespace: 'system', name: 'attune' };
    await Promise.all([1, 2, 3].map(() => world.clients[0]?.get(LEASES, ref)));
    const dead = Math.max(...world.api.requests.map(({ socket }) => socket));
    const answer = world.server.answer.bind(world.server);
    world.server.answer = (exchange) => void (exchange.socket > dead && answer(exchange));
    const sent = world.api.requests.length;
    a.clock.advance(500);
    await eventually(() => world.api.requests.length).toBe(sent + 1);
    a.clock.advance(5000);
    await eventually(() => world.server.writes.length).toBe(2);
    await a.live(6000);
    expect(a.told).not.toContain('lost');
    expect(a.leadership()?.held()).toBe(true);
  });

  test('a leader that was frozen knows that it does not lead, before anything else happens', async () => {
    const world = await start();
    const a = candidate(world, 'a');
    await a.live(1000);
    const leadership = a.leadership();
    expect(leadership?.held()).toBe(true);
    a.clock.advance(10_000);
    expect(leadership?.held()).toBe(false);
    await eventually(() => a.told).toContain('lost');
  });

  test('a leader that finds another in its place stops, stands by, and may lead again', async () => {
    const world = await start();
    const a = candidate(world, 'a');
    await a.live(1000);
    world.server.set({ holderIdentity: 'b' });
    await a.live(3000);
    expect(a.told.slice(3)).toEqual(['holder b', 'lost']);
    await watched(world);
    world.server.set({ holderIdentity: '' });
    await eventually(() => a.told.at(-1)).toBe('leading');
  });

  test('two candidates for a free lease: one leads', async () => {
    const world = await start();
    const clock = virtualClock(1e12);
    const both = [candidate(world, 'a', clock), candidate(world, 'b', clock)] as const;
    await both[0].live(4000);
    expect(both.filter(({ told }) => told.includes('leading'))).toHaveLength(1);
  });
});
