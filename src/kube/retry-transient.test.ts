import { expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { virtualClock } from '../../test/support/virtual-clock.ts';
import { KubeError } from './kube-error.ts';
import { retryTransient } from './retry-transient.ts';

const failure = (status: number, retryAfterMs?: number) =>
  new KubeError({ verb: 'get', path: '/x', status, reason: 'x', retryAfterMs });

test.each([0, 401, 408, 429, 500, 503])(
  'what the server cannot do now (%i) is asked again until it can',
  async (status) => {
    const clock = virtualClock();
    const answers = [failure(status), failure(status), 'done'];
    const told: number[] = [];
    const work = async () => {
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    };
    const signal = new AbortController().signal;
    const result = retryTransient(work, { clock, signal, retrying: (error) => told.push(error.status) });
    await clock.run(20_000);
    expect(await result).toBe('done');
    expect(told).toEqual([status, status]);
  },
);

test.each([403, 404, 409, 422])('what it refuses for good (%i) is thrown', async (status) => {
  const error = failure(status);
  const options = { clock: virtualClock(), signal: new AbortController().signal };
  await expect(retryTransient(() => Promise.reject(error), options)).rejects.toBe(error);
});

test('a time that the server named is kept', async () => {
  const clock = virtualClock();
  let calls = 0;
  const work = async () => {
    calls += 1;
    if (calls === 1) throw failure(429, 30_000);
  };
  const done = retryTransient(work, { clock, signal: new AbortController().signal });
  await clock.run(29_999);
  expect(calls).toBe(1);
  await clock.run(1);
  await done;
});

test('it can be called off', async () => {
  const clock = virtualClock();
  const stop = new AbortController();
  const error = failure(503);
  const waiting = retryTransient(() => Promise.reject(error), { clock, signal: stop.signal });
  const check = expect(waiting).rejects.toBe(error);
  await eventually(() => clock.timers).toBe(1);
  stop.abort();
  await check;
});
