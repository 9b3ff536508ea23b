import { execFileSync } from 'node:child_process';
import { execPath } from 'node:process';
import { expect, test } from 'vitest';
import { virtualClock } from '../../test/support/virtual-clock.ts';
import { shrinkAtRest } from './heap-at-rest.ts';

const MB = 2 ** 20;

/** A heap of which 20 MB are in use, and a process that is told what it did. */
function world() {
  const clock = virtualClock(0);
  const state = { cpuMs: 0, bytes: 20 * MB, shrunk: 0 };
  const stop = shrinkAtRest(clock, {
    cpuMs: () => state.cpuMs,
    bytes: () => state.bytes,
    shrink() {
      state.shrunk += 1;
      state.bytes = 20 * MB;
    },
  });
  const pass = (seconds: number, load: number) => {
    for (let left = seconds; left > 0; left -= 1) {
      state.cpuMs += load * 1000;
      clock.advance(1000);
    }
  };
  return { state, pass, stop };
}

test('after the start the heap is shrunk, and then left alone while nothing happens', () => {
  const { state, pass } = world();
  pass(600, 0);
  expect(state.shrunk).toBe(1);
});

test('after a burst it is shrunk once more', () => {
  const { state, pass } = world();
  pass(60, 0);
  state.bytes += 15 * MB;
  pass(60, 0.01);
  expect(state).toMatchObject({ shrunk: 2, bytes: 20 * MB });
});

test('not while there is work: the pause would be felt', () => {
  const { state, pass } = world();
  pass(60, 0);
  state.bytes += 15 * MB;
  pass(60, 0.5);
  expect(state.shrunk).toBe(1);
});

test('not for little', () => {
  const { state, pass } = world();
  pass(60, 0);
  state.bytes += 3 * MB;
  pass(60, 0);
  expect(state.shrunk).toBe(1);
});

test('no more once it is stopped', () => {
  const { state, pass, stop } = world();
  stop();
  pass(60, 0);
  expect(state.shrunk).toBe(0);
});

test('V8 gives back what it had taken', () => {
  const script = `
    const { v8Heap } = await import(${JSON.stringify(new URL('heap-at-rest.ts', import.meta.url).href)});
    const before = v8Heap.bytes();
    let all = Array.from({ length: 3e5 }, (_, n) => ({ n, text: 'number ' + n }));
    const during = v8Heap.bytes();
    all = undefined;
    v8Heap.shrink();
    console.log(JSON.stringify({ grown: during - before, left: v8Heap.bytes() - before }));
  `;
  const text = execFileSync(execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
  const { grown, left } = JSON.parse(text) as { readonly grown: number; readonly left: number };
  expect(grown).toBeGreaterThan(20 * MB);
  expect(left).toBeLessThan(2 * MB);
});

test('and the young generation is afterwards as large as it was held before', () => {
  const script = `
    const { v8Heap } = await import(${JSON.stringify(new URL('heap-at-rest.ts', import.meta.url).href)});
    const { setV8Flags } = await import(${JSON.stringify(new URL('v8-flags.ts', import.meta.url).href)});
    setV8Flags('');
    v8Heap.shrink();
    const spaces = process.getBuiltinModule('node:v8').getHeapSpaceStatistics();
    console.log(spaces.find(({ space_name }) => space_name === 'new_space').space_size / 2 ** 20);
  `;
  const text = execFileSync(execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
  expect(Number(text)).toBe(4);
});
