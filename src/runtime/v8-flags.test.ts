import { execFileSync } from 'node:child_process';
import { execPath } from 'node:process';
import { expect, test } from 'vitest';

const MODULE = new URL('v8-flags.ts', import.meta.url).href;
// It is 4, and may have grown once more before it was held; left alone it is 128 here.
const SMALL_MB = 9;
const CLEAN = { PATH: '', NODE_OPTIONS: '' };

/** Sets the flags in a process of its own, lets a young generation grow as it likes, and says how large it became. */
function youngGeneration(execArgv: readonly string[], env: Readonly<Record<string, string>>): number {
  const script = `
    const { setV8Flags } = await import(${JSON.stringify(MODULE)});
    setV8Flags(process.env.NODE_OPTIONS);
    let kept;
    for (let n = 0; n < 2e6; n += 1) kept = n % 50_000 === 0 ? [] : [...(n % 5 ? [] : [kept]), { n, kept }];
    const space = process.getBuiltinModule('node:v8').getHeapSpaceStatistics();
    console.log(space.find(({ space_name }) => space_name === 'new_space').space_size / 2 ** 20);
  `;
  // While a full collection marks, V8 postpones those of the young generation and lets it exceed its size meanwhile, by
  // the more the longer the marking takes. On a loaded machine that would be what is measured.
  const args = [...execArgv, '--no-separate-gc-phases', '--input-type=module', '--eval', script];
  return Number(execFileSync(execPath, args, { env: { ...CLEAN, ...env }, encoding: 'utf8' }));
}

test('the young generation stays small, and is large enough', () => {
  const size = youngGeneration([], {});
  expect(size).toBeLessThan(SMALL_MB);
  expect(size).toBeGreaterThanOrEqual(4);
});

test.each([
  ['NODE_OPTIONS', [], { NODE_OPTIONS: '--max-semi-space-size=8' }],
  ['the command line', ['--max_semi_space_size=8'], {}],
])('what a user says of it in %s counts', (_, execArgv, env) => {
  expect(youngGeneration(execArgv, env)).toBeGreaterThan(SMALL_MB);
});

test('what a user says of something else takes nothing away', () => {
  expect(youngGeneration([], { NODE_OPTIONS: '--max-old-space-size=100' })).toBeLessThan(SMALL_MB);
});

test.each([
  [[], false],
  [['--opt'], true],
])('with %j functions are optimised: %s', (execArgv, isOptimised) => {
  const script = `
    const { setV8Flags } = await import(${JSON.stringify(MODULE)});
    setV8Flags('');
    const add = (a, b) => a + b;
    let sum = 0;
    for (let n = 0; n < 5e6; n += 1) sum = add(sum, n);
    // 16 and more: by maglev or turbofan.
    console.log((%GetOptimizationStatus(add) & (16 + 32 + 64 + 8192)) !== 0);
  `;
  // At once and not beside the loop, which may be over before.
  const args = [
    '--allow-natives-syntax',
    '--no-concurrent-recompilation',
    ...execArgv,
    '--input-type=module',
    '--eval',
    script,
  ];
  expect(execFileSync(execPath, args, { env: CLEAN, encoding: 'utf8' }).trim()).toBe(String(isOptimised));
});
