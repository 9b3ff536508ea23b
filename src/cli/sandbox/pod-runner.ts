import { readFileSync } from 'node:fs';
import { connect } from '../../kube/auth/connection.ts';
import { KubeClient } from '../../kube/client.ts';
import { isAlive } from '../../runtime/process-identity.ts';
import { sandboxFiles } from '../../sandbox/control-plane/control-plane.ts';
import { readAdminToken } from '../../sandbox/control-plane/users.ts';
import { runPods } from '../../sandbox/pods/pod-runner.ts';
import { daemonsIn, startDaemon } from '../../sandbox/processes/daemon.ts';
import { redisPrograms } from '../../sandbox/redis/redis-image.ts';
import type { Io } from '../terminal/io.ts';

const NAME = 'pods';

/** Starts this program once more as a daemon: the pod runner outlives this command, as the other components do. */
export function startPodRunner(sandbox: { readonly name: string; readonly dir: string }, io: Io): void {
  const before = daemonsIn(sandbox.dir).get(NAME);
  if (before && isAlive(before)) return;
  const argv = [...thisProgram(), 'sandbox', 'pods', '--name', sandbox.name];
  startDaemon(sandbox.dir, { name: NAME, argv, env: io.env }).detach();
}

const thisProgram = (): readonly string[] => [process.execPath, ...process.execArgv, process.argv[1] ?? ''];

/** The pod runner itself: runs pods of our own images as processes until it is stopped. */
export async function servePods(
  { dir, server = '' }: { dir: string; server: string | undefined },
  io: Io,
): Promise<void> {
  const access = { server, authority: readFileSync(sandboxFiles(dir).authority, 'utf8'), token: readAdminToken(dir) };
  const client = new KubeClient(await connect({ kubeconfig: sandboxFiles(dir).kubeconfig, env: {} }));
  const say = (line: string) => io.stdout(`${line}\n`);
  const program = thisProgram();
  const options = {
    client,
    access,
    dir,
    images: ['attune'],
    program,
    programs: redisPrograms(program),
    env: io.env,
    say,
  };
  await runPods(options, io.signal);
  client.close();
}
