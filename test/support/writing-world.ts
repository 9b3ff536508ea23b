import type { KubeObject } from '../../src/api/objects.ts';
import { createAct } from '../../src/controller/act.ts';
import { type ReconcileDeps, reconcile } from '../../src/controller/reconcile.ts';
import type { Workload } from '../../src/domain/workload.ts';
import { running, WEB } from './engine-world.ts';

/**
 * An engine with hands, of which the server's answers are in the test's hands: it says when a write is answered, and
 * with which object.
 */
export function writing(options: Parameters<typeof running>[0] = {}, parts: Partial<ReconcileDeps> = {}) {
  const world = running(options);
  const writes: { readonly body: unknown; readonly answer: (workload: Workload) => void }[] = [];
  const policy = options.policy ?? world.policy;
  const none = () => {};
  const act = createAct({
    client: {
      patch: (_kind: unknown, _ref: unknown, body: unknown) =>
        new Promise((resolve) => writes.push({ body, answer: (workload) => resolve(workload) })),
    } as never,
    clock: world.clock,
    policy,
    strategy: 'env-vars',
    keyId: 'k',
    seenUpTo: () => world.engine.seen,
    ran: none,
    foundRun: none,
    mayStore: () => true,
    shorten: (text) => text,
    jobs: {} as never,
    parse: (_kind, object: KubeObject) => object as unknown as Workload,
    seen: (workload) => world.engine.workloadSeen(workload, 'write'),
    touch: none,
  });
  const deps: ReconcileDeps = {
    engine: world.engine,
    sources: world.sources,
    lifecycle: { compat: policy.compat, reloadOnCreate: false, reloadOnDelete: false },
    clock: world.clock,
    mayWrite: () => true,
    queue: { schedule: none, retry: () => 0 },
    fresh: async () => {},
    isDelivered: async () => false,
    catchUp: async () => {},
    report: { taken: none, failed: none, reloaded: none, unchanged: none, settledByOther: none, problems: none },
    act,
    ...parts,
  };
  return { ...world, writes, reconcile: () => reconcile(deps, WEB) };
}
