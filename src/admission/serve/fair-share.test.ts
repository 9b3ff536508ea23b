import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FairShare, type Release } from './fair-share.ts';

const { signal } = new AbortController();

/** Who was served, in the order in which that happened. */
function shareOf(total: number) {
  const share = new FairShare(total);
  const served: string[] = [];
  const held = new Map<string, Release>();
  const take = (client: string, amount = 1, name = client, until = signal) =>
    share.take(client, amount, until).then(
      (given) => {
        served.push(name);
        held.set(name, given);
      },
      () => void served.push(`${name} gave up`),
    );
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const release = async (name: string) => {
    held.get(name)?.();
    await turn();
  };
  return { take, served, release, turn };
}

describe('a share', () => {
  test('is half for one client, and the rest waits in its order', async () => {
    const { take, served, release, turn } = shareOf(4);
    for (const name of ['a1', 'a2', 'a3', 'a4']) void take('a', 1, name);
    await turn();
    expect(served).toEqual(['a1', 'a2']);
    void take('b', 2, 'b');
    await turn();
    expect(served).toEqual(['a1', 'a2', 'b']);
    await release('a2');
    await release('a2');
    expect(served).toEqual(['a1', 'a2', 'b', 'a3']);
    await release('a1');
    expect(served).toEqual(['a1', 'a2', 'b', 'a3', 'a4']);
  });

  test('goes to clients in turns', async () => {
    const { take, served, release, turn } = shareOf(2);
    void take('a', 1, 'a1');
    void take('b', 1, 'b1');
    for (const name of ['c1', 'c2', 'd1', 'd2']) void take(name.slice(0, 1), 1, name);
    await turn();
    for (const name of ['a1', 'b1', 'c1', 'd1']) await release(name);
    expect(served).toEqual(['a1', 'b1', 'c1', 'd1', 'c2', 'd2']);
  });

  test('is kept for one who wants much, though others want less', async () => {
    const { take, served, release, turn } = shareOf(8);
    void take('a', 4, 'a');
    void take('b', 3, 'b');
    void take('c', 4, 'much');
    void take('d', 1, 'little');
    await turn();
    expect(served).toEqual(['a', 'b']);
    await release('a');
    expect(served).toEqual(['a', 'b', 'much', 'little']);
  });

  test('is not waited for by one who gave up', async () => {
    const { take, served, release, turn } = shareOf(2);
    const giveUp = new AbortController();
    void take('a', 1, 'a');
    void take('b', 1, 'b');
    void take('c', 1, 'c', giveUp.signal);
    void take('d', 1, 'd');
    await turn();
    giveUp.abort();
    await release('a');
    expect(served).toEqual(['a', 'b', 'c gave up', 'd']);
    await take('e', 1, 'e', giveUp.signal);
    expect(served.at(-1)).toBe('e gave up');
  });

  test('of more than half is never given', async () => {
    await expect(new FairShare(10).take('a', 6, signal)).rejects.toThrow('expected at most 5, not 6');
  });
});

test('whoever takes what, gives back and gives up: the bounds hold, and in the end all are served', async () => {
  const step = fc.record({
    client: fc.constantFrom('a', 'b', 'c'),
    amount: fc.integer({ min: 0, max: 5 }),
    does: fc.constantFrom('take', 'take', 'release', 'give up'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const share = new FairShare(10);
      const holding: { client: string; amount: number; release: Release }[] = [];
      const waiting = new Set<AbortController>();
      const sum = (client?: string) =>
        holding
          .filter((each) => client === undefined || each.client === client)
          .reduce((all, { amount }) => all + amount, 0);
      const takes: Promise<void>[] = [];
      for (const { client, amount, does } of steps) {
        if (does === 'release') holding.shift()?.release();
        else if (does === 'give up') [...waiting][0]?.abort();
        else {
          const until = new AbortController();
          waiting.add(until);
          const taken = (release: Release) => void holding.push({ client, amount, release });
          takes.push(
            share
              .take(client, amount, until.signal)
              .then(taken, () => {})
              .finally(() => waiting.delete(until)),
          );
        }
        await new Promise((resolve) => setImmediate(resolve));
        expect(sum()).toBeLessThanOrEqual(10);
        for (const each of ['a', 'b', 'c']) expect(sum(each)).toBeLessThanOrEqual(5);
      }
      while (waiting.size > 0) {
        const next = holding.shift();
        expect(next).toBeDefined();
        next?.release();
        await new Promise((resolve) => setImmediate(resolve));
      }
      await Promise.all(takes);
    }),
    { numRuns: 200 },
  );
});
