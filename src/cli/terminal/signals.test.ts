import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import { endingWithin, stopSignal } from './signals.ts';

function program() {
  const clock = virtualClock();
  const exits: number[] = [];
  const source = Object.assign(new EventEmitter(), { exit: (code: number) => void exits.push(code) });
  const signal = stopSignal(source, clock.now);
  return { clock, exits, signal, send: (name: NodeJS.Signals) => source.emit(name, name) };
}

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s asks for an end', (name) => {
  const { exits, signal, send } = program();
  expect(signal.aborted).toBe(false);
  send(name);
  expect(signal.reason).toEqual(new Error(`stopped by ${name}`));
  expect(exits).toEqual([]);
});

test('the same stop, delivered by the terminal and by npm, is one', () => {
  const { clock, exits, send } = program();
  send('SIGINT');
  send('SIGINT');
  clock.advance(999);
  send('SIGINT');
  send('SIGHUP');
  expect(exits).toEqual([]);
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('%s after a moment means it', (name, code) => {
  const { clock, exits, send } = program();
  send('SIGTERM');
  clock.advance(1000);
  send(name);
  expect(exits).toEqual([code]);
});

test('SIGQUIT waits for nothing', () => {
  const { exits, send } = program();
  send('SIGQUIT');
  expect(exits).toEqual([131]);
});

test('after a stop a program has so long to end its work, and then what hangs is left alone', async () => {
  const clock = virtualClock();
  const stop = new AbortController();
  let hasEnded = false;
  const hanging = new Promise<void>(() => {});
  void endingWithin(7000, hanging, stop.signal, clock).then(() => {
    hasEnded = true;
  });
  await clock.run(60_000);
  stop.abort();
  await clock.run(6999);
  expect(hasEnded).toBe(false);
  await clock.run(1);
  expect(hasEnded).toBe(true);
});

test('work that ends in time sets no clock', async () => {
  const clock = virtualClock();
  const stop = new AbortController();
  const work = Promise.withResolvers<void>();
  const ended = endingWithin(7000, work.promise, stop.signal, clock);
  stop.abort();
  work.resolve();
  await ended;
  expect(clock.timers).toBe(0);
});
