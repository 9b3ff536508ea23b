import { expect, test } from 'vitest';
import { LeaseServer } from '../../test/support/lease-world.ts';
import { startClient } from '../../test/support/scripted-client.ts';
import { systemClock } from '../runtime/clock.ts';
import { electedLeadership } from './leadership.ts';

test('who leads and cannot work says so, and leaves the lead to another', async () => {
  const server = new LeaseServer();
  const { client } = await startClient((exchange) => server.answer(exchange));
  const told: boolean[] = [];
  const leadership = electedLeadership({
    client,
    clock: systemClock,
    namespace: 'system',
    identity: 'one',
    report: { leading: (isLeading) => told.push(isLeading), holder: () => {}, electionTrouble: () => {} },
  });
  const run = leadership.run(new AbortController().signal, () => Promise.reject(new Error('cannot work')));
  await expect(run).rejects.toThrow('cannot work');
  expect(told).toEqual([true]);
  expect(server.lease?.spec.holderIdentity).toBe('');
  expect(leadership.mayWrite()).toBe(false);
});
