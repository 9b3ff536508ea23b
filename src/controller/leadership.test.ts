import { expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { LeaseServer } from '../../test/support/lease-world.ts';
import { startClient } from '../../test/support/scripted-client.ts';
import { LEASES } from '../api/resources.ts';
import { systemClock } from '../runtime/clock.ts';
import { electedLeadership } from './leadership.ts';

/** A candidate on a server with one Lease. */
async function candidate(leadsOnce = false) {
  const server = new LeaseServer();
  const { client, api } = await startClient((exchange) => server.answer(exchange));
  const told: boolean[] = [];
  const leadership = electedLeadership({
    client,
    clock: systemClock,
    namespace: 'system',
    identity: 'one',
    leadsOnce,
    report: { leading: (isLeading) => told.push(isLeading), holder: () => {}, electionTrouble: () => {} },
  });
  return { server, client, api, told, leadership };
}

/** A term that lasts until its signal, and then until the test lets it end. */
function term() {
  const begun = Promise.withResolvers<AbortSignal>();
  const end = Promise.withResolvers<void>();
  const lead = async (signal: AbortSignal): Promise<void> => {
    begun.resolve(signal);
    await end.promise;
  };
  return { begun: begun.promise, end: end.resolve, lead };
}

test('who leads and cannot work says so, and leaves the lead to another', async () => {
  const { server, told, leadership } = await candidate();
  const run = leadership.run(new AbortController().signal, () => Promise.reject(new Error('cannot work')));
  await expect(run).rejects.toThrow('cannot work');
  expect(told).toEqual([true]);
  expect(server.lease?.spec.holderIdentity).toBe('');
  expect(leadership.mayWrite()).toBe(false);
});

test('who loses the Lease stands again, and leads again when the term before has ended', async () => {
  const { server, api, told, leadership } = await candidate();
  const terms = [term(), term()];
  const left = [...terms];
  const stop = new AbortController();
  const run = leadership.run(stop.signal, (signal) => left.shift()?.lead(signal) ?? Promise.resolve());
  const first = await terms[0]?.begun;
  expect(leadership.mayWrite()).toBe(true);

  server.set({ holderIdentity: 'two', leaseDurationSeconds: 3600 });
  await eventually(() => first?.aborted).toBe(true);
  expect([leadership.mayWrite(), leadership.isAlive()]).toEqual([false, true]);

  await eventually(() => api.requests.some(({ verb }) => verb === 'watch')).toBe(true);
  // Elected again, while a write of the first term still waits for its answer.
  server.set({ holderIdentity: '' });
  await eventually(() => told).toEqual([true, false, true]);
  expect([leadership.mayWrite(), left.length]).toEqual([false, 1]);
  terms[0]?.end();
  expect((await terms[1]?.begun)?.aborted).toBe(false);
  expect(leadership.mayWrite()).toBe(true);

  stop.abort();
  terms[1]?.end();
  await run;
  expect(server.lease?.spec.holderIdentity).toBe('');
});

test('as upstream: who has lost the Lease is not alive, and never leads again', async () => {
  const { server, told, leadership } = await candidate(true);
  const { begun, end, lead } = term();
  const stop = new AbortController();
  const run = leadership.run(stop.signal, lead);
  await begun;
  expect(leadership.isAlive()).toBe(true);
  server.set({ holderIdentity: 'two', leaseDurationSeconds: 3600 });
  await eventually(() => leadership.isAlive()).toBe(false);
  server.set({ holderIdentity: '' });
  const writes = server.writes.length;
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(server.writes).toHaveLength(writes);
  expect([leadership.mayWrite(), told]).toEqual([false, [true, false]]);
  end();
  stop.abort();
  await run;
});

test('the Lease of another that lasts for 68 years is waited for, and not asked about without end', async () => {
  const { server, client, api, leadership } = await candidate();
  server.set({ holderIdentity: 'two', leaseDurationSeconds: 2 ** 31 - 1, leaseTransitions: 2 ** 31 - 1 });
  const { begun, end, lead } = term();
  const stop = new AbortController();
  const run = leadership.run(stop.signal, lead);
  const watches = () => api.requests.filter(({ verb }) => verb === 'watch').length;
  await eventually(watches).toBe(1);
  // Each takes longer than the timer that was set for those years once did.
  for (let n = 0; n < 100; n += 1) await client.get(LEASES, { namespace: 'system', name: 'stakater-reloader-lock' });
  expect([watches(), server.writes]).toEqual([1, []]);
  server.set({ holderIdentity: '' });
  await begun;
  expect(server.lease?.spec.leaseTransitions).toBe(2 ** 31 - 1);
  end();
  stop.abort();
  await run;
});
