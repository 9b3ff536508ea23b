import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { env, execPath, pid, stderr } from 'node:process';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import type { ControlPlane } from '../support/sandbox.ts';

declare module 'vitest' {
  interface ProvidedContext {
    readonly controlPlane: ControlPlane;
    /** The folder of the bundle. */
    readonly dist: string;
  }
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** One control plane, and one bundle, for the whole run of the e2e tests; a run that was killed is cleared away by the next. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const started = performance.now();
  const say = (line: string) => void stderr.write(`sandbox: ${line}\n`);
  const sandbox = await startSandbox(
    {
      name: `test-${pid}`,
      env,
      nodes: 3,
      owned: true,
      audit: 'metadata',
      processImages: ['attune', 'reloader', 'attune-redis'],
    },
    say,
  );
  say(`ready after ${((performance.now() - started) / 1000).toFixed(1)} s`);
  const { name, dir, server, kubeconfig, auditLog, caFile, adminToken: token } = sandbox;
  project.provide('controlPlane', {
    name,
    dir,
    server,
    kubeconfig,
    auditLog,
    token,
    authority: readFileSync(caFile, 'utf8'),
  });
  // In its folder, with which it goes.
  const dist = join(dir, 'dist');
  execFileSync(execPath, ['scripts/build.mjs', dist], { cwd: ROOT });
  project.provide('dist', dist);
  return () => sandbox.stop();
}
