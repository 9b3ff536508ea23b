import { expect, test } from 'vitest';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import { elapsed, waitingLine } from './waiting-line.ts';

function waiting(terminal: { isTTY?: boolean; columns?: number }, env = {}) {
  const clock = virtualClock();
  let text = '';
  const write = (more: string) => {
    text += more;
  };
  const line = waitingLine({ write, terminal, env }, clock);
  /** What was written since the last look. */
  const written = () => {
    const now = text;
    text = '';
    return now;
  };
  return { clock, line, written };
}

test('a terminal has one line, rewritten every second with the time and what is done', () => {
  const { clock, line, written } = waiting({ isTTY: true, columns: 40 });
  line.now('etcd: loading 1 of 20 MB');
  expect(written()).toBe('\r\x1b[2K0:00 etcd: loading 1 of 20 MB');
  line.now('etcd: loading 5 of 20 MB');
  expect(written()).toBe('');
  clock.advance(1000);
  expect(written()).toBe('\r\x1b[2K0:01 etcd: loading 5 of 20 MB');
  clock.advance(2000);
  expect(written()).toBe('\r\x1b[2K0:02 etcd: loading 5 of 20 MB\r\x1b[2K0:03 etcd: loading 5 of 20 MB');
});

test('what is said stands above the line', () => {
  const { line, written } = waiting({ isTTY: true });
  line.say('first');
  expect(written()).toBe('first\n');
  line.now('at work');
  written();
  line.say('second');
  expect(written()).toBe('\r\x1b[2Ksecond\n\r\x1b[2K0:00 at work');
});

test.each([
  [20, '0:00 etcd: loading…'],
  [0, '0:00 etcd: loading something from somewhere'],
])('a line never wraps: %d columns', (columns, expected) => {
  const { line, written } = waiting({ isTTY: true, columns });
  line.now('etcd: loading something from somewhere');
  expect(written()).toBe(`\r\x1b[2K${expected}`);
});

test.each([
  ['a pipe', {}, {}],
  ['a terminal that cannot go back', { isTTY: true }, { TERM: 'dumb' }],
])('%s gets a line every twelve seconds', (_, terminal, env) => {
  const { clock, line, written } = waiting(terminal, env);
  line.now('etcd: loading 1 of 20 MB');
  line.say('said');
  expect(written()).toBe('said\n');
  clock.advance(11_999);
  line.now('etcd: loading 5 of 20 MB');
  expect(written()).toBe('');
  clock.advance(1);
  expect(written()).toBe('0:12 etcd: loading 5 of 20 MB\n');
  clock.advance(12_000);
  expect(written()).toBe('0:24 etcd: loading 5 of 20 MB\n');
});

test('at the end the line is gone, and no timer is left', () => {
  const { clock, line, written } = waiting({ isTTY: true });
  line.now('at work');
  written();
  line.end();
  expect(written()).toBe('\r\x1b[2K');
  expect(clock.timers).toBe(0);
  line.say('after');
  expect(written()).toBe('after\n');
});

test.each([
  [0, '0:00'],
  [59_999, '0:59'],
  [754_000, '12:34'],
  [3_723_000, '1:02:03'],
])('%d ms are %s', (ms, text) => {
  expect(elapsed(ms)).toBe(text);
});
