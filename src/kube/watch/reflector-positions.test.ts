import { expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { type Answer, listOf } from '../../../test/support/scripted-api.ts';
import { object, startReflector as start } from '../../../test/support/scripted-reflector.ts';
import { virtualClock } from '../../../test/support/virtual-clock.ts';

const EXPIRED = { kind: 'Status', code: 410, reason: 'Expired' };
const TOO_LARGE = Buffer.alloc(17 * 1024 * 1024, 'x');

test.each([
  ['forgotten, by its status', (e) => e.status(410, 'Expired'), [1000, 2000, 4000]],
  ['forgotten, by an ERROR event', (e) => void e.event('ERROR', EXPIRED), [1000, 2000, 4000]],
  ['not found', (e) => e.status(404, 'NotFound'), [500, 1000, 2000]],
  ['followed by an event that is too large', (e) => e.write(TOO_LARGE), [500, 1000, 2000]],
] as const satisfies readonly [string, Answer, readonly number[]][])(
  'a position that is refused however often it is listed is waited for longer and longer: %s',
  async (_, refuse, expected) => {
    const clock = virtualClock();
    const waits: number[] = [];
    const { api } = await start(
      { list: [(e) => e.json(200, listOf([], '5'))], watch: [refuse] },
      { clock, random: () => 1, retrying: (_error, ms) => waits.push(ms) },
    );
    for (const ms of expected) {
      await eventually(() => clock.timers).toBe(1);
      clock.advance(ms);
    }
    await eventually(() => clock.timers).toBe(1);
    expect(waits.slice(0, 3)).toEqual(expected);
    expect(api.requests.filter(({ verb }) => verb === 'list').length).toBeLessThanOrEqual(5);
  },
);

test('an old position that is forgotten is listed anew without a wait, also after an outage, and each time', async () => {
  const clock = virtualClock();
  const waits: number[] = [];
  const works =
    (version: number): Answer =>
    (e) =>
      e.event('ADDED', object('a', version)).then(() => e.cut());
  const { untilTold } = await start(
    {
      list: [5, 15, 25].map(
        (version): Answer =>
          (e) =>
            e.json(200, listOf([], String(version))),
      ),
      watch: [works(6), (e) => e.cut(), (e) => e.status(410, 'Expired'), works(16), (e) => e.status(410, 'Expired')],
    },
    { clock, random: () => 1, retrying: ({ status }, ms) => waits.push(status, ms) },
  );
  for (const [synced, ms] of [
    ['synced 5', 500],
    ['synced 5', 1000],
    ['synced 15', 500],
  ] as const) {
    await untilTold(synced);
    await eventually(() => clock.timers).toBe(1);
    clock.advance(ms);
  }
  await untilTold('synced 25');
  expect(waits.slice(0, 6)).toEqual([0, 500, 0, 1000, 0, 500]);
});

test('a watch that was open for a while has worked: the listing after it is the first again', async () => {
  const clock = virtualClock();
  const waits: number[] = [];
  let opened = 0;
  const watching = () => {
    opened += 1;
  };
  const { api } = await start(
    { list: [(e) => e.json(200, listOf([], '5'))], watch: [(e) => e.write('\n')] },
    { clock, random: () => 1, retrying: (_, ms) => waits.push(ms), watching },
  );
  for (let n = 1; n <= 3; n += 1) {
    await eventually(() => opened).toBe(n);
    clock.advance(60_000);
    await api.requests.at(-1)?.event('ERROR', EXPIRED);
  }
  await eventually(() => opened).toBe(4);
  expect(waits).toEqual([]);
});
