import fc from 'fast-check';
import { expect, test } from 'vitest';
import { virtualClock } from '../../test/support/virtual-clock.ts';
import { ServerTime } from './server-time.ts';

const TRUE_START = Date.UTC(2026, 0, 1, 12);
const HOUR_MS = 3_600_000;

/** Our clock is off by so much; the server is asked at a time, writes the date and is heard, each so much later. */
function world(offMs: number) {
  const clock = virtualClock(TRUE_START + offMs);
  const time = new ServerTime(clock);
  const truth = () => TRUE_START + clock.now();
  return {
    clock,
    time,
    error: () => time.now() - truth(),
    exchange(thereMs = 0, backMs = 0) {
      const askedAt = clock.now();
      clock.advance(thereMs);
      const date = new Date(truth()).toUTCString();
      clock.advance(backMs);
      time.observe(date, askedAt);
    },
  };
}

test('before the server has said anything it is what our own clock said at the start', () => {
  const { clock, error } = world(-HOUR_MS);
  clock.advance(5000);
  clock.jump(30 * HOUR_MS);
  expect(error()).toBe(-HOUR_MS);
});

test('a clock that is right is not made coarser', () => {
  const { clock, time, error, exchange } = world(0);
  clock.advance(700);
  exchange(20, 30);
  expect(error()).toBe(0);
  clock.jump(-HOUR_MS);
  clock.advance(HOUR_MS);
  expect(error()).toBe(0);
  expect(time.wantsDate).toBe(true);
});

test.each([-HOUR_MS, 30 * HOUR_MS])('a clock that is wrong by %i ms is set right by one answer', (offMs) => {
  const { clock, error, exchange } = world(offMs);
  exchange();
  expect(Math.abs(error())).toBeLessThanOrEqual(1000);
  // Answers at other moments of a second tell where it begins.
  for (let n = 0; n < 10; n += 1) {
    clock.advance(1090);
    exchange();
  }
  expect(Math.abs(error())).toBeLessThanOrEqual(100);
});

test('the server may be set, too', () => {
  const { clock, time, exchange } = world(0);
  exchange();
  clock.advance(1000);
  time.observe('Fri, 02 Jan 2026 12:00:00 GMT', clock.now());
  expect(time.now()).toBe(Date.UTC(2026, 0, 2, 12));
  time.observe('Thu, 01 Jan 2026 12:00:00 GMT', clock.now());
  expect(time.now()).toBe(Date.UTC(2026, 0, 1, 12, 0, 1));
});

test.each(['', 'soon', '2026-01-01T00:00:00Z', 'Wed, 99 Foo GMT'])('what is no date says nothing: "%s"', (text) => {
  const { time, error } = world(5);
  time.observe(text, 0);
  expect(error()).toBe(5);
  expect(time.wantsDate).toBe(true);
});

test('looks now and then only', () => {
  const { clock, time, exchange } = world(0);
  expect(time.wantsDate).toBe(true);
  exchange();
  expect(time.wantsDate).toBe(false);
  clock.advance(1000);
  expect(time.wantsDate).toBe(true);
});

test('however wrong our clock and slow the network: never further off than a second and the way of one answer', () => {
  const ms = fc.nat({ max: 5000 });
  fc.assert(
    fc.property(fc.integer(), fc.array(fc.tuple(ms, ms, ms), { minLength: 1 }), (offMs, exchanges) => {
      const { clock, error, exchange } = world(offMs);
      for (const [idleMs, thereMs, backMs] of exchanges) {
        clock.advance(idleMs);
        exchange(thereMs, backMs);
        expect(Math.abs(error())).toBeLessThanOrEqual(1000 + thereMs + backMs);
        if (offMs === 0) expect(error()).toBe(0);
      }
    }),
    { examples: [[0, [[300, 20, 30]]]] },
  );
});
