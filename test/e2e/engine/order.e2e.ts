import { expect, test } from 'vitest';
import { Audit } from '../../support/audit.ts';
import { startController } from '../../support/controller.ts';
import { faultProxy } from '../../support/proxy.ts';
import { namespace } from '../../support/sandbox.ts';
import { rounds } from '../../support/soak.ts';
import { until } from '../../support/wait.ts';
import { sha1 } from '../../support/workloads.ts';
import { marksOf, movesIn, untilMarked } from '../reloader/moves.ts';
import { scene } from '../reloader/scene.ts';

const TIMES = rounds(40, 200);
const DEPLOYMENT = 'Deployment';

/** Each watch is a connection of its own, and either may be the slow one. */
const DELAYED = { none: undefined, sources: /configmaps\?.*watch/, workloads: /deployments\?.*watch/ };

test.each(['none', 'sources', 'workloads'] as const)(
  'the order on the server decides, not the order of arrival (delayed: %s)',
  async (delayed) => {
    const shop = await namespace('order');
    const moves = movesIn(shop);
    const proxy = await faultProxy();
    const path = DELAYED[delayed];
    if (path) proxy.setRules([{ fault: { type: 'delay', ms: 300 }, verbs: ['watch'], path }]);
    await moves.createSource('ConfigMap', 'fence', { round: '1' });
    await moves.createUser('fence', 'fence');
    await using audit = await Audit.of(shop, [DEPLOYMENT]);
    await using _controller = await startController({
      home: await namespace('order-home'),
      access: proxy.access,
      flags: [`--namespaces=${shop}`, '--quiet-period=0'],
    });
    for (let n = 0; n < TIMES; n += 1) {
      for (const kind of ['before', 'after']) await moves.createSource('ConfigMap', `${kind}-${n}`, { value: '1' });
      // A broken watch has to be opened again, and what happened meanwhile comes later than the other kind's news.
      if (n % 5 === 0) proxy.cutWatches();
      await moves.createUser(`before-${n}`, `before-${n}`);
      await moves.setData('ConfigMap', `before-${n}`, { value: '2' });
      await moves.setData('ConfigMap', `after-${n}`, { value: '2' });
      await moves.createUser(`after-${n}`, `after-${n}`);
    }
    for (let n = 0; n < TIMES; n += 1) await untilMarked(audit, DEPLOYMENT, `before-${n}`, { value: '2' });
    await moves.setData('ConfigMap', 'fence', { round: '2' });
    await untilMarked(audit, DEPLOYMENT, 'fence', { round: '2' });
    const rolls = (kind: string) =>
      Array.from({ length: TIMES }, (_, n) => audit.templates(DEPLOYMENT, `${kind}-${n}`).length - 1);
    expect({ before: new Set(rolls('before')), after: new Set(rolls('after')) }).toEqual({
      before: new Set([1]),
      after: new Set([0]),
    });
  },
);

test('an answer that took longer than the watch does not bring old data back', async () => {
  const proxy = await faultProxy();
  await using here = await scene();
  await here.createSource('ConfigMap', 'app', { value: '1' });
  const attune = await here.start(['--quiet-period=2s'], {
    access: { ...here.stage.access, server: proxy.access.server },
  });
  const [answered, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const fault = { type: 'hold', answered: answered.resolve, until: release.promise } as const;
  proxy.setRules([{ fault, verbs: ['get'], path: /configmaps\/app/ }]);
  // Nobody used it so far: it is read now.
  await here.createUser('web', 'app');
  await answered.promise;
  await here.setData('ConfigMap', 'app', { value: '2' });
  const labels = { resource_type: 'configmaps', event_type: 'update' };
  await until(async () => ((await attune.metric('reloader_events_received_total', labels)) ?? 0) >= 1, {
    what: 'the change being seen',
  });
  release.resolve();
  await untilMarked(here.audit, DEPLOYMENT, 'web', { value: '2' });
  await here.fence.pass(1);
  expect(Object.values(marksOf(DEPLOYMENT, here.audit.latest(DEPLOYMENT, 'web')))).toEqual([sha1({ value: '2' })]);
  expect(here.audit.templates(DEPLOYMENT, 'web')).toHaveLength(2);
});
