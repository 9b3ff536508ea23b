// Runs all suites one after the other, even when one fails, and prints how long each took. The last line counts tests; a
// check without tests of its own counts as one.
//
//   node scripts/test.mjs            everything
//   node scripts/test.mjs verify     what needs no control plane
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { run as runChild } from './children.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const results = join(root, 'node_modules', '.cache', 'attune');

const vitest = (project) => ({
  command: ['vitest', 'run', '--project', project, '--reporter=default', '--reporter=json'],
  report: join(results, `${project}.json`),
});

const VERIFY = {
  check: { command: ['biome', 'check', '.'] },
  types: { command: ['tsc', '-p', 'tsconfig.json'] },
  'pure types': { command: ['tsc', '-p', 'tsconfig.pure.json'] },
  unused: { command: ['knip'] },
  unit: vitest('unit'),
  conformance: vitest('conformance'),
};
const SUITES = {
  ...VERIFY,
  e2e: vitest('e2e'),
  tour: { command: ['node', 'src/main.ts', 'tour', '--once'] },
};

mkdirSync(results, { recursive: true });
const suites = process.argv[2] === 'verify' ? VERIFY : SUITES;
const finished = [];
for (const [name, suite] of Object.entries(suites)) finished.push({ name, ...(await run(name, suite)) });

process.stdout.write('\n');
for (const { name, passed, failed, seconds } of finished) {
  process.stdout.write(`${name.padEnd(12)} ${seconds.padStart(7)} s   ${passed} passed, ${failed} failed\n`);
}
const sum = (key) => finished.reduce((total, suite) => total + suite[key], 0);
const line = `${sum('passed')} passed, ${sum('failed')} failed\n`;
process.stdout.write(line);
writeFileSync(join(results, 'test-summary.txt'), line);
process.exit(sum('failed') === 0 ? 0 : 1);

async function run(name, { command, report }) {
  process.stdout.write(`\n=== ${name}\n`);
  if (report) rmSync(report, { force: true });
  const [file, ...args] = command;
  const { env } = process;
  const started = performance.now();
  const { status } = await runChild(file, report ? [...args, `--outputFile.json=${report}`] : args, {
    cwd: root,
    // Finds the programs of the npm packages also when npm did not start this script.
    env: { ...env, PATH: `${join(root, 'node_modules', '.bin')}:${env.PATH ?? ''}` },
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  return { seconds, ...(report ? counts(report, status === 0) : { passed: +(status === 0), failed: +(status !== 0) }) };
}

/** A run that failed without a failed test, for example in its set-up, counts as one failed test. */
function counts(report, succeeded) {
  try {
    const { numPassedTests: passed, numFailedTests: failed } = JSON.parse(readFileSync(report, 'utf8'));
    return { passed, failed: succeeded ? failed : Math.max(failed, 1) };
  } catch {
    return { passed: 0, failed: 1 };
  }
}
