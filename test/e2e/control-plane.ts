import { readFileSync } from 'node:fs';
import { env, pid, stderr } from 'node:process';
import type { TestProject } from 'vitest/node';
import { startSandbox } from '../../src/sandbox/sandbox.ts';
import type { ControlPlane } from '../support/sandbox.ts';

declare module 'vitest' {
  interface ProvidedContext {
    readonly controlPlane: ControlPlane;
  }
}

/** One control plane for the whole run of the e2e tests; a run that was killed is cleared away by the next. */
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
  return () => sandbox.stop();
}
