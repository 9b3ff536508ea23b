import { beforeAll, describe, expect, test } from 'vitest';
import type { Controller } from '../../support/controller.ts';
import { api } from '../../support/sandbox.ts';
import { rounds } from '../../support/soak.ts';
import { until } from '../../support/wait.ts';
import { explainer } from '../cli/explained.ts';
import { configPath } from './config-world.ts';
import { isReady, type RestartWorld, restartWorld } from './restart-world.ts';

const names = (pods: readonly { readonly metadata: { readonly name: string } }[]): string[] =>
  pods.map(({ metadata }) => metadata.name).sort();

/** A restart that was stopped is tried again after a time that grows, and a budget is looked at every ten seconds. */
const untilEvicted = (w: RestartWorld, name: string, count: number) =>
  until(() => w.evicted(name).length >= count, { what: `eviction ${count} of ${name}` });

test('killed again and again, and the data changed back meanwhile: every pod goes once, one at a time', async () => {
  const KILLS = rounds(3, 10);
  const BACK_AFTER = rounds(2, 4);
  await using w = await restartWorld();
  await w.deploy('web', { replicas: 5, byHand: true });
  await w.budget('web', 'web', 4);
  let controller = await w.start();
  const wanted = new Set(names(w.alive('web')));
  await w.setData('web', 'b');
  for (let turn = 1; turn <= wanted.size; turn += 1) {
    await untilEvicted(w, 'web', turn);
    if (turn <= KILLS) await controller.kill9();
    await w.audit.until('another pod in its place', () => w.alive('web').length === 5);
    if (turn === BACK_AFTER) {
      for (const name of names(w.alive('web'))) wanted.add(name);
      await w.setData('web', 'a');
    }
    if (turn <= KILLS) controller = await w.start();
    await w.makeReady('web');
  }
  await controller.untilLine(/restarted its \d+ pods/);
  if (KILLS > wanted.size) {
    await controller.kill9();
    controller = await w.start();
  }
  expect([...w.evicted('web')].sort()).toEqual([...wanted].sort());
  expect(w.fewestReady('web', 5)).toBe(4);
  expect(w.audit.templates('Deployment', 'web')).toHaveLength(1);
  await controller[Symbol.asyncDispose]();
});

interface Condition {
  readonly type: string;
  readonly status: string;
}

describe('as it is', () => {
  let w: RestartWorld;
  let controller: Controller;
  beforeAll(async () => {
    w = await restartWorld();
    controller = await w.start();
    return async () => {
      await controller[Symbol.asyncDispose]();
      await w[Symbol.asyncDispose]();
    };
  });

  const untilDegraded = (name: string, wanted: string) =>
    until(
      async () => {
        const { status } = await api().get(configPath(w.space, name));
        return status.conditions.some((each: Condition) => each.type === 'Degraded' && each.status === wanted);
      },
      { what: `Degraded of ${name} ${wanted}` },
    );

  test.concurrent('a replacement that never gets ready: one eviction, and the rest when it does', async () => {
    await w.deploy('stuck', { byHand: true, spec: { progressDeadlineSeconds: 2 } });
    await w.setData('stuck', 'b');
    await controller.untilLine(/\/stuck.*did not become available again within 2 s/);
    await untilDegraded('stuck', 'True');
    expect(w.evicted('stuck')).toHaveLength(1);
    expect(await explainer(w).inWords('deployment/stuck')).toContain('its pods are being replaced one by one');
    for (let turn = 1; turn <= 3; turn += 1) {
      await untilEvicted(w, 'stuck', turn);
      await w.audit.until('another pod in its place', () => w.alive('stuck').length === 3);
      await w.makeReady('stuck');
    }
    await controller.untilLine(/'stuck' of type 'Deployment'.*restarted its 3 pods/);
    await untilDegraded('stuck', 'False');
  });

  test.concurrent('two budgets for a pod: none is evicted until there is one', async () => {
    await w.deploy('torn', { replicas: 2 });
    await Promise.all(['one', 'two'].map((name) => w.budget(name, 'torn', 1)));
    await w.setData('torn', 'b');
    await controller.untilLine(/\/torn.*more than one PodDisruptionBudget/);
    await untilDegraded('torn', 'True');
    expect(w.evicted('torn')).toEqual([]);
    await api().delete(`/apis/policy/v1/namespaces/${w.space}/poddisruptionbudgets/two`);
    await controller.untilLine(/'torn' of type 'Deployment'.*restarted its 2 pods/);
    expect(w.fewestReady('torn', 2)).toBe(1);
  });

  test.concurrent('a StatefulSet, from its last pod to its first', async () => {
    await w.deploy('set', { kind: 'StatefulSet' });
    await w.setData('set', 'b');
    await controller.untilLine(/'set' of type 'StatefulSet'.*restarted its 3 pods/);
    expect(w.evicted('set')).toEqual(['set-2', 'set-1', 'set-0']);
    expect(w.audit.templates('StatefulSet', 'set')).toHaveLength(1);
  });

  test.concurrent('a DaemonSet', async () => {
    await w.deploy('agent', { kind: 'DaemonSet' });
    const before = names(w.alive('agent'));
    await w.setData('agent', 'b');
    await controller.untilLine(/'agent' of type 'DaemonSet'.*restarted its/);
    expect([...w.evicted('agent')].sort()).toEqual(before);
    await w.audit.until('others', () => w.alive('agent').filter(isReady).length === before.length);
  });
});

test('without the right nothing is evicted, and that is told', async () => {
  await using w = await restartWorld({ rights: false });
  await using controller = await w.start();
  await w.deploy('web');
  await w.setData('web', 'b');
  await controller.untilLine(/attune\.reloaderConfig\.restart=true/);
  expect([w.evicted('web'), w.audit.templates('Deployment', 'web').length]).toEqual([[], 1]);
});

test('without a ledger nothing is evicted, and that is told', async () => {
  await using w = await restartWorld();
  await using controller = await w.start([], { env: { POD_NAMESPACE: '' } });
  await w.deploy('web');
  await w.setData('web', 'b');
  await controller.untilLine(/no pod is evicted before the ledger says/);
  expect([w.evicted('web'), w.audit.templates('Deployment', 'web').length]).toEqual([[], 1]);
});
