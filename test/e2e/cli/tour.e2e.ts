import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { env, pid } from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { inspectSandbox } from '../../../src/sandbox/inspect.ts';
import { api, ownControlPlane, type Program, runProgram } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { podUsing, workload } from '../../support/workloads.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const run = promisify(execFile);
const newName = () => `tour-${pid}-${randomBytes(3).toString('hex')}`;
const tour = (name: string, ...flags: string[]) => runProgram([`${ROOT}attune`, 'tour', '--name', name, ...flags]);

const untilLine = ({ lines, ended }: Program, pattern: RegExp) => {
  const early = ended.then((code) => Promise.reject(new Error(`ended with ${code}:\n${lines.join('\n')}`)));
  early.catch(() => {});
  const seen = until(() => lines.find((line) => pattern.test(line)), { what: String(pattern), deadlineMs: 120_000 });
  return Promise.race([seen, early]);
};

it('shows a change arrive, ends with 0, and leaves nothing behind', async () => {
  const name = newName();
  const program = tour(name, '--once');
  expect(await program.ended, program.lines.join('\n')).toBe(0);
  expect(program.lines.map((line) => line.trim())).toEqual(
    expect.arrayContaining([
      'ConfigMap demo/app changed → Deployment demo/web rolled (auto)',
      'Secret demo/db-password changed → Deployment demo/api rolled (named)',
      'Secret demo/db-password changed → StatefulSet demo/db rolled (auto)',
      'ConfigMap demo/features changed → Deployment demo/worker rolled (reloader-config)',
      expect.stringMatching(/^Deployment demo\/worker will not roll for ConfigMap app: no annotation/),
    ]),
  );
  expect(inspectSandbox(env, name)).toBeUndefined();
});

it('stays, and every command that it prints works as printed', async () => {
  const name = newName();
  const program = tour(name);
  await untilLine(program, /Ctrl-C ends it/);
  const commands = program.lines.map((line) => line.trim()).filter((line) => line.startsWith('./attune '));
  expect(commands.length).toBeGreaterThan(3);
  const answers: string[] = [];
  for (const command of commands) {
    const { stdout } = await run('/bin/sh', ['-c', command], { cwd: ROOT, timeout: 60_000 });
    answers.push(stdout);
  }
  expect(answers.join('\n')).toMatch(/✗ ConfigMap app: a change does not roll it \(not-asked\)/);
  expect(answers.join('\n')).toMatch(/✓ ConfigMap features: a change rolls it \(reloader-config\)/);
  const judged = answers.filter((answer) => answer.includes('judged by'));
  expect(judged).toHaveLength(2);
  for (const answer of judged) expect(answer).toMatch(/judged by +the flags of ConfigMap attune\/attune-info/);
  // The commands let worker ask and change the ConfigMap: the tour follows.
  await untilLine(program, /ConfigMap demo\/app changed → Deployment demo\/worker rolled \(auto\)/);
  process.kill(program.pid, 'SIGINT');
  expect(await program.ended).toBe(0);
  expect(inspectSandbox(env, name)).toBeUndefined();
});

it('does not succeed when the cluster shows something else than what it says', async () => {
  const { plane } = await ownControlPlane({ owned: false });
  const admin = api(plane);
  await admin.create('/api/v1/namespaces', { metadata: { name: 'demo' } });
  const pod = podUsing({ kind: 'ConfigMap', name: 'app' }, 'envFrom');
  const annotations = { 'reloader.stakater.com/auto': 'true' };
  await until(
    () =>
      admin.create(
        '/apis/apps/v1/namespaces/demo/deployments',
        workload('Deployment', 'worker', { annotations, pod, spec: { replicas: 1 } }),
      ),
    { what: 'a Deployment worker that rolls' },
  );
  const program = tour(plane.name, '--once');
  expect(await program.ended).toBe(1);
  expect(program.lines).toContainEqual(expect.stringContaining('Deployment worker rolled unasked'));
  expect(inspectSandbox(env, plane.name)?.state).toBe('up');
});

it('a stop in the middle leaves nothing behind', async () => {
  const name = newName();
  const program = tour(name, '--once');
  await untilLine(program, /A real control plane/);
  await until(() => inspectSandbox(env, name), { what: 'the beginning of a sandbox' });
  expect(await program.terminate()).toBe(130);
  expect(program.lines).toContain('Everything is cleared away.');
  expect(inspectSandbox(env, name)).toBeUndefined();
});
