import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { runCli } from '../../../src/cli/cli.ts';
import type { ApiAccess } from '../../../src/sandbox/control-plane/api-request.ts';
import { writeKubeconfig } from '../../../src/sandbox/control-plane/write-kubeconfig.ts';
import { controlPlane } from '../../support/sandbox.ts';

export interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command line as a user with this access would type it. */
export function commandLine(
  access: ApiAccess = controlPlane(),
  env: Readonly<Record<string, string>> = {},
  run: typeof runCli = runCli,
) {
  const folder = mkdtempSync(join(tmpdir(), 'attune-cli-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const kubeconfig = join(folder, 'kubeconfig');
  writeKubeconfig(kubeconfig, 'e2e', access);
  return async (...argv: readonly string[]): Promise<Answer> => {
    const answer = { stdout: '', stderr: '' };
    const code = await run(argv, {
      env: { KUBECONFIG: kubeconfig, ...env },
      stdout: (text) => {
        answer.stdout += text;
      },
      stderr: (text) => {
        answer.stderr += text;
      },
      signal: new AbortController().signal,
      terminal: {},
    });
    return { code, ...answer };
  };
}
