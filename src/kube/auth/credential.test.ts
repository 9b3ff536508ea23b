import { expect, test } from 'vitest';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import { type Credential, cachedCredential } from './credential.ts';

/** Counts how often it is asked; each answer waits until it is given. */
function giver() {
  const asked: PromiseWithResolvers<Credential>[] = [];
  return {
    asked,
    obtain: () => {
      const next = Promise.withResolvers<Credential>();
      asked.push(next);
      return next.promise;
    },
    give: (credential: Credential) => asked.at(-1)?.resolve(credential),
  };
}

async function having(credential: Credential) {
  const clock = virtualClock();
  const from = giver();
  const renewed = cachedCredential(from.obtain, clock);
  const first = renewed.authorization();
  from.give(credential);
  await first;
  return { clock, ...from, ...renewed };
}

test('however many calls find it expired, it is obtained once', async () => {
  const { clock, asked, give, authorization } = await having({ header: 'one', expiresAt: 1_000 });
  clock.advance(999);
  expect(authorization()).toBe('one');
  clock.advance(1);
  const calls = Array.from({ length: 20 }, () => authorization());
  give({ header: 'two', expiresAt: 9_000 });
  expect(new Set(await Promise.all(calls))).toEqual(new Set(['two']));
  expect(asked).toHaveLength(2);
  expect(authorization()).toBe('two');
});

test.each([-3_600_000, 30 * 3_600_000])('whoever sets the wall clock by %i ms does not change its end', async (ms) => {
  const { clock, asked, authorization } = await having({ header: 'one', expiresAt: 1_000 });
  clock.jump(ms);
  clock.advance(999);
  expect(authorization()).toBe('one');
  clock.advance(1);
  void authorization();
  expect(asked).toHaveLength(2);
});

test('a refused one is given up, also where it has no end; once for a wave of refusals', async () => {
  const { clock, asked, give, authorization } = await having({ header: 'one' });
  const wave = [authorization(true), authorization(true), authorization()];
  give({ header: 'two' });
  expect(await Promise.all(wave)).toEqual(['two', 'two', 'two']);
  // One that was under way meanwhile.
  expect(authorization(true)).toBe('two');
  expect(asked).toHaveLength(2);
  clock.advance(10_000);
  const later = authorization(true);
  give({ header: 'three' });
  expect(await later).toBe('three');
});

test('a failure reaches all who wait, and the next call asks again', async () => {
  const { asked, give, authorization } = await having({ header: 'one', expiresAt: 0 });
  const calls = [authorization(), authorization()];
  asked.at(-1)?.reject(new Error('no'));
  for (const call of calls) await expect(call).rejects.toThrow('no');
  const next = authorization();
  give({ header: 'two', expiresAt: 1 });
  expect(await next).toBe('two');
  expect(asked).toHaveLength(3);
});
