import { createAct } from '../../src/controller/write/act.ts';
import { type ReconcileDeps, reconcile } from '../../src/controller/write/reconcile.ts';
import { ExpressionBudget } from '../../src/domain/asks/expression-budget.ts';
import { NameBudget } from '../../src/domain/asks/name-budget.ts';
import { createConfigHash } from '../../src/model/config-hash.ts';
import { DIGEST, parsed, running, WEB } from './engine-world.ts';
import type { Exchange } from './scripted-api.ts';
import { startClient } from './scripted-client.ts';

/** An engine with hands, on a server that leaves it to the test when a write is answered, and with which object. */
export async function writing(options: Parameters<typeof running>[0] = {}, parts: Partial<ReconcileDeps> = {}) {
  const world = running(options);
  const writes: Exchange[] = [];
  const { client } = await startClient((exchange) => void writes.push(exchange));
  const policy = options.policy ?? world.policy;
  const none = () => {};
  const shorten = DIGEST.text;
  const { engine } = world;
  const act = createAct({
    client,
    engine,
    policy,
    shorten,
    keyId: 'k',
    configs: { asksFor: () => [], askedFrom: () => 0, expressions: new ExpressionBudget(), names: new NameBudget() },
    mayStore: () => true,
    jobs: {} as never,
    replacements: {} as never,
    evictions: {} as never,
    parse: (_kind, object) => parsed(object, policy.sapCompat),
    seen: (workload) => engine.workloadSeen(workload, 'write'),
  });
  const report: ReconcileDeps['report'] = { taken: none, tell: none };
  const deps: ReconcileDeps = {
    engine,
    sources: world.sources,
    policy,
    shorten,
    configHash: createConfigHash({
      ...{ ...world, isAbsent: () => true },
      contentHash: policy.sapCompat ? undefined : DIGEST,
    }).known,
    keys: policy.keys,
    lifecycle: { compat: policy.compat, reloadOnCreate: false, reloadOnDelete: false },
    timing: { quietPeriodMs: 0, maxWaitMs: 0 },
    clock: world.clock,
    serverNow: () => client.serverNow(),
    mayWrite: () => true,
    queue: { schedule: none, retry: () => 0 },
    isUnderWay: () => false,
    evictions: { rest: none, drop: none },
    fresh: async () => {},
    isDelivered: async () => false,
    catchUp: async () => {},
    report,
    act,
    ...parts,
  };
  return { ...world, writes, report, reconcile: () => reconcile(deps, WEB) };
}
