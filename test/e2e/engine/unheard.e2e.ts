import { expect, test } from 'vitest';
import { Audit } from '../../support/audit.ts';
import { type Controller, startController } from '../../support/controller.ts';
import { faultProxy } from '../../support/proxy.ts';
import { namespace } from '../../support/sandbox.ts';
import { isObserved, type SourceName } from '../../support/workloads.ts';
import { AUTO, movesIn, podWith } from '../reloader/moves.ts';
import { revisionsOf, verdictOn } from './auditor.ts';

const APP: SourceName = { kind: 'ConfigMap', name: 'app' };
const TOKEN: SourceName = { kind: 'Secret', name: 'token' };
const KINDS = ['Deployment', 'StatefulSet', 'CronJob'] as const;

/**
 * The Secret changes while a rollout for the ConfigMap is about to be written, and the news of it never reaches the writer,
 * who is killed. The pods of that rollout have the Secret's data, but its record does not say so.
 */
async function unheard() {
  const [home, shop] = await Promise.all([namespace('unheard-home'), namespace('unheard')]);
  const moves = movesIn(shop);
  for (const { kind, name } of [APP, TOKEN]) await moves.createSource(kind, name, { value: '1' });
  const used = { envFrom: [{ configMapRef: { name: APP.name } }, { secretRef: { name: TOKEN.name } }] };
  for (const kind of KINDS) {
    await moves.create(kind, 'web', { annotations: AUTO, pod: podWith([{ name: 'app', image: 'app', ...used }]) });
  }
  const audit = await Audit.of(shop, ['ConfigMap', 'Secret', 'Job', ...KINDS]);
  const proxy = await faultProxy();
  const flags = [`--namespaces=${shop}`, '--quiet-period=5s', '--log-level=debug'];
  const controllers: Controller[] = [];
  const start = async () => {
    const controller = await startController({ home, access: proxy.access, flags });
    controllers.push(controller);
    return controller;
  };
  const said = () => controllers.map(({ lines }) => lines.join('\n')).join('\n--- and after it\n');
  const judge = () =>
    KINDS.map((kind) => {
      const revisions = revisionsOf(audit, kind, 'web');
      const { surplus, missed } = verdictOn({ kind, name: 'web', sources: [APP, TOKEN] }, revisions, audit);
      return { kind, rolled: revisions.length - 1, surplus, missed };
    });
  const untilRolled = (times: number) =>
    audit.until(
      () => `all were rolled ${times} times, and there are ${JSON.stringify(judge())}; ${said()}`,
      () => judge().every(({ rolled }) => rolled >= times),
    );

  // Of a rollout that its controller has not counted yet nobody can tell later whether the Secret was there before it.
  const isCounted = (kind: (typeof KINDS)[number]) => kind === 'CronJob' || isObserved(audit.latest(kind, 'web'));
  const untilCounted = () => audit.until('all are counted', () => KINDS.every(isCounted));

  await untilCounted();
  const first = await start();
  proxy.setRules([{ fault: { type: 'silence' }, verbs: ['watch'], path: /secrets/ }]);
  proxy.cutWatches();
  await moves.setData('ConfigMap', 'app', { value: '2' });
  await first.untilLine(/ConfigMap .*app changed/);
  await moves.setData('Secret', 'token', { value: '2' });
  await untilRolled(1);
  await first.kill9();
  await untilCounted();
  proxy.setRules([]);
  return { moves, proxy, start, judge, untilRolled };
}

test.concurrent('what changed before a rollout is in its pods, also if its writer died before hearing of it', async () => {
  const { moves, start, judge, untilRolled } = await unheard();
  await using second = await start();
  await second.untilLine(/already rolls for Secret token/);
  await moves.setData('ConfigMap', 'app', { value: '3' });
  await untilRolled(2);
  await second.stop();
  expect(judge()).toEqual(KINDS.map((kind) => ({ kind, rolled: 2, surplus: [], missed: 0 })));
});

test.concurrent('what changed after a rollout is not, however soon', async () => {
  const { moves, start, judge, untilRolled } = await unheard();
  await moves.setData('Secret', 'token', { value: '3' });
  await using _second = await start();
  await untilRolled(2);
  expect(judge()).toEqual(KINDS.map((kind) => ({ kind, rolled: 2, surplus: [], missed: 0 })));
});

test.concurrent('where the server has forgotten, one rollout too many is better than one too few', async () => {
  const { proxy, start, untilRolled, judge } = await unheard();
  proxy.setRules([{ fault: { type: 'status', code: 410 }, path: /resourceVersionMatch=Exact/ }]);
  await using _second = await start();
  await untilRolled(2);
  expect(judge().map(({ rolled }) => rolled)).toEqual(KINDS.map(() => 2));
});
