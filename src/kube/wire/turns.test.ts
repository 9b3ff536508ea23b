import { expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { startClient } from '../../../test/support/scripted-client.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import { Exchange } from './exchange.ts';
import { Turns } from './turns.ts';

test('so many go on at once, the others in their order, and whoever gives up waiting holds up nobody', () => {
  const turns = new Turns(2);
  const granted: string[] = [];
  const ask = (name: string) => turns.ask(() => granted.push(name));
  const [a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map(ask);
  const who = () => [a, b, c, d, e].map((turn) => turn?.isGranted);
  expect(who()).toEqual([true, true, false, false, false]);
  c?.giveBack();
  a?.giveBack();
  a?.giveBack();
  expect([who(), granted]).toEqual([[false, true, false, true, false], ['d']]);
  b?.giveBack();
  d?.giveBack();
  e?.giveBack();
  expect(granted).toEqual(['d', 'e']);
  expect(['f', 'g', 'h'].map(ask).map(({ isGranted }) => isGranted)).toEqual([true, true, false]);
});

const MIB = 1024 * 1024;

test('however many large answers come at once, no more than two are held beyond their first MiB', async () => {
  const PIECE = MIB / 4;
  const BYTES = 8 * MIB;
  const limits = { maxBytes: 16 * MIB, tooLong: () => new Error('too long'), turns: new Turns(2) };
  const answers = Array.from({ length: 32 }, () => {
    const exchange = new Exchange({ method: 'GET', path: '/', headers: {}, body: undefined }, 1000, 1000);
    const answer = { exchange, sent: 0, isPaused: false, read: exchange.body(limits) };
    const pause = (isPaused: boolean) => () => {
      answer.isPaused = isPaused;
    };
    exchange.assign({ pause: pause(true), resume: pause(false), destroy: () => {} }, false);
    return answer;
  });
  let most = 0;
  for (let open = answers; open.length > 0; open = answers.filter(({ exchange }) => !exchange.isOver)) {
    const ready = open.filter(({ isPaused }) => !isPaused);
    expect(ready).not.toEqual([]);
    for (const answer of ready) {
      answer.exchange.push(Buffer.alloc(PIECE));
      answer.sent += PIECE;
      if (answer.sent >= BYTES) answer.exchange.complete();
    }
    const held = answers.filter(({ exchange }) => !exchange.isOver).reduce((sum, { sent }) => sum + sent, 0);
    most = Math.max(most, held);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect((await Promise.all(answers.map(({ read }) => read))).map(({ length }) => length)).toEqual(
    Array(32).fill(BYTES),
  );
  expect(most).toBeLessThanOrEqual(30 * (MIB + PIECE) + 2 * BYTES);
});

test('an answer that is called off while it waits for its turn is over at once', async () => {
  const { client, api } = await startClient((e) => e.write('x'.repeat(2 * MIB)));
  const stop = new AbortController();
  const calls = ['a', 'b', 'c'].map((name) =>
    client.get(CONFIG_MAPS, { namespace: 'shop', name }, { signal: stop.signal }).catch((error: unknown) => error),
  );
  await eventually(() => api.requests.length).toBe(3);
  const reason = new Error('enough');
  stop.abort(reason);
  expect(await Promise.all(calls)).toEqual([reason, reason, reason]);
});
