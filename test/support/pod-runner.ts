import { env, execPath, stderr } from 'node:process';
import { afterAll } from 'vitest';
import { connect } from '../../src/kube/auth/connection.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { runPods } from '../../src/sandbox/pods/pod-runner.ts';
import { shippedProgram } from './programs.ts';
import { type ControlPlane, controlPlane } from './sandbox.ts';

export interface PodRunner {
  /** Ends the runner and all its processes; happens by itself after the test file. */
  stop(): Promise<void>;
}

/**
 * Runs pods of one namespace as processes of this machine. `program` is what runs in place of the image's program:
 * the sources of this checkout when not given. kwok leaves pods of the images `attune` and `reloader` alone.
 */
export async function podRunner(options: {
  readonly namespace: string;
  readonly images?: readonly string[];
  readonly program?: readonly string[];
  readonly plane?: ControlPlane;
}): Promise<PodRunner> {
  const plane = options.plane ?? controlPlane();
  const client = new KubeClient(await connect({ kubeconfig: plane.kubeconfig, env: {} }));
  const stopping = new AbortController();
  const finished = runPods(
    {
      client,
      access: plane,
      dir: plane.dir,
      namespace: options.namespace,
      images: options.images ?? ['attune'],
      program: options.program ?? [execPath, shippedProgram()],
      env,
      say: (line) => void stderr.write(`${line}\n`),
    },
    stopping.signal,
  ).finally(() => client.close());
  const stop = async () => {
    stopping.abort();
    await finished;
  };
  afterAll(stop);
  return { stop };
}
