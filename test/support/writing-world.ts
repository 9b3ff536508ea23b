import { createAct } from '../../src/controller/write/act.ts';
import { type ReconcileDeps, reconcile } from '../../src/controller/write/reconcile.ts';
import { createDigest } from '../../src/runtime/digest.ts';
import { parsed, running, WEB } from './engine-world.ts';
import type { Exchange } from './scripted-api.ts';
import { startClient } from './scripted-client.ts';

/** An engine with hands, on a server that leaves it to the test when a write is answered, and with which object. */
export async function writing(options: Parameters<typeof running>[0] = {}, parts: Partial<ReconcileDeps> = {}) {
  const world = running(options);
  const writes: Exchange[] = [];
  const { client } = await startClient((exchange) => void writes.push(exchange));
  const policy = options.policy ?? world.policy;
  const none = () => {};
  const act = createAct({
    client,
    policy,
    strategy: 'env-vars',
    keyId: 'k',
    seenUpTo: () => world.engine.seen,
    ran: none,
    foundRun: none,
    mayStore: () => true,
    shorten: createDigest(new Uint8Array(32)).text,
    jobs: {} as never,
    replacements: {} as never,
    parse: (_kind, object) => parsed(object),
    seen: (workload) => world.engine.workloadSeen(workload, 'write'),
    touch: none,
  });
  const report: ReconcileDeps['report'] = { taken: none, tell: none };
  const deps: ReconcileDeps = {
    engine: world.engine,
    sources: world.sources,
    lifecycle: { compat: policy.compat, reloadOnCreate: false, reloadOnDelete: false },
    clock: world.clock,
    mayWrite: () => true,
    queue: { retry: () => 0 },
    isUnderWay: () => false,
    fresh: async () => {},
    isDelivered: async () => false,
    catchUp: async () => {},
    report,
    act,
    ...parts,
  };
  return { ...world, writes, report, reconcile: () => reconcile(deps, WEB) };
}
