import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RECORD } from '../../../src/api/annotations.ts';
import { readRecord } from '../../../src/domain/ledger/record.ts';
import { Audit } from '../../support/audit.ts';
import { startController } from '../../support/controller.ts';
import { api, controlPlane, namespace } from '../../support/sandbox.ts';
import { testFolder } from '../../support/test-folder.ts';
import { until } from '../../support/wait.ts';
import { movesIn, untilMarked } from '../reloader/moves.ts';

const DEPLOYMENT = 'Deployment';
const folder = testFolder('clock');

/** A workload and its source, and controllers whose wall clock is as wrong as the test says. */
async function shop() {
  const [space, home] = await Promise.all([namespace('clock'), namespace('clock-home')]);
  const moves = movesIn(space);
  await moves.createSource('ConfigMap', 'app', { value: '1' });
  await moves.createUser('web', 'app');
  const audit = await Audit.of(space, [DEPLOYMENT]);
  const file = join(folder.path, 'hours');
  const wallOff = (hours: number) => writeFileSync(file, String(hours));
  wallOff(0);
  const preload = new URL(`wall-clock.mjs?file=${file}`, import.meta.url);
  const start = (flags: readonly string[] = []) =>
    startController({
      home,
      access: controlPlane(),
      flags: [`--namespaces=${space}`, ...flags],
      env: { NODE_OPTIONS: `--import=${preload.href}` },
    });
  const ledger = () => api().find(`/api/v1/namespaces/${home}/configmaps/attune-ledger-0`);
  return { ...moves, audit, start, wallOff, ledger };
}

test('a change that waits goes when its time has come, wherever the wall clock jumps meanwhile', async () => {
  const { audit, start, wallOff, setData } = await shop();
  await using attune = await start(['--quiet-period=3s', '--log-level=debug']);
  const seen = () => attune.lines.filter((line) => /ConfigMap .*app changed/.test(line)).length;
  const jumps = [-1, 30, 0];
  for (const [n, hours] of jumps.entries()) {
    const data = { value: `changed ${n}` };
    await setData('ConfigMap', 'app', data);
    await until(() => seen() > n, { what: 'the change being seen' });
    wallOff(hours);
    await untilMarked(audit, DEPLOYMENT, 'web', data);
  }
  expect(audit.templates(DEPLOYMENT, 'web')).toHaveLength(1 + jumps.length);
});

test.each([30, -30])('what changed meanwhile is brought by a start with a wall clock of %i h', async (hours) => {
  const { audit, start, wallOff, setData, ledger } = await shop();
  const first = await start();
  await until(ledger, { what: 'the ledger' });
  expect(await first.stop()).toBe(0);
  await setData('ConfigMap', 'app', { value: '2' });
  wallOff(hours);
  await using _second = await start();
  const { metadata } = await untilMarked(audit, DEPLOYMENT, 'web', { value: '2' });
  // The server and this test have one clock, and what is written down goes by it.
  const { at = 0 } = readRecord(metadata.annotations?.[RECORD]) ?? {};
  expect(Math.abs(at - Date.now() / 1000)).toBeLessThan(600);
});
