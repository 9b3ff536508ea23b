import { expect, test } from 'vitest';
import { stage } from '../../support/controller.ts';
import { api } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { pathOf } from '../../support/workloads.ts';
import { movesIn, untilMarked } from './moves.ts';
import { receiver } from './receiver.ts';
import { MODES, scene } from './scene.ts';

const V1 = { value: '1' };
const V2 = { value: '2' };
const V3 = { value: '3' };

test.each(MODES)(
  '11. webhook: one POST per change whatever the annotations say, and no workload is touched: %s',
  async (mode) => {
    await using here = await scene();
    await using there = await receiver();
    await here.createSource('ConfigMap', 'app', V1);
    await here.createSource('Secret', 'nobody-asked', V1);
    const before = await here.createUser('web', 'app');
    await here.start([mode, `--webhook-url=${there.url}/hook?key=secret`]);
    // An answer of whatever kind is an answer.
    there.answer(500);
    await here.setData('ConfigMap', 'app', V2);
    await here.setData('Secret', 'nobody-asked', V2);
    await there.untilReceived(2);
    await api().patch(pathOf('ConfigMap', here.space, 'app'), { metadata: { labels: { only: 'metadata' } } });
    await here.createSource('ConfigMap', 'created', V1);
    await here.deleteSource('ConfigMap', 'created');
    await here.setData('ConfigMap', 'app', V3);
    await here.setData('Secret', 'nobody-asked', V3);
    await there.untilReceived(4);
    const post = { method: 'POST', path: '/hook?key=secret', contentType: 'application/json' };
    const body = '{"webhook":"update successful"}';
    expect(there.received).toEqual(Array.from({ length: 4 }, () => ({ ...post, body })));
    const web = await api().get(pathOf('Deployment', here.space, 'web'));
    expect(web.metadata.generation).toBe(before.metadata.generation);
  },
);

test('11. webhook: what comes and goes is posted if that was asked for', async () => {
  await using here = await scene();
  await using there = await receiver();
  // Every namespace gets it, a moment late: it would be posted as something that came.
  await until(() => api().find(pathOf('ConfigMap', here.space, 'kube-root-ca.crt')), {
    what: 'what every namespace has',
  });
  await here.start([`--webhook-url=${there.url}`, '--reload-on-create=true', '--reload-on-delete=true']);
  expect(there.received).toEqual([]);
  await here.createSource('ConfigMap', 'app', V1);
  await there.untilReceived(1);
  await here.deleteSource('ConfigMap', 'app');
  await there.untilReceived(2);
});

test('11. webhook: only of namespaces that are selected', async () => {
  await using here = await stage({ global: true, spaces: 2 });
  await using there = await receiver();
  const [inside = '', outside = ''] = here.spaces;
  await api().patch(`/api/v1/namespaces/${inside}`, { metadata: { labels: { hook: inside } } });
  for (const space of here.spaces) await movesIn(space).createSource('ConfigMap', 'app', V1);
  await using _attune = await here.start([`--webhook-url=${there.url}`, `--namespace-selector=hook=${inside}`]);
  for (const data of [V2, V3]) {
    await movesIn(outside).setData('ConfigMap', 'app', data);
    await movesIn(inside).setData('ConfigMap', 'app', data);
  }
  await there.untilReceived(2);
  await movesIn(inside).setData('ConfigMap', 'app', V1);
  await there.untilReceived(3);
  expect(there.received).toHaveLength(3);
});

const MESSAGE = (space: string) =>
  `Reloader detected changes in *app* of type *CONFIGMAP* in namespace *${space}*. ` +
  `Hence reloaded *web* of type *Deployment* in namespace *${space}*`;

const SINKS = {
  slack: { contentType: 'application/json', wrap: (text: string) => slack(text) },
  teams: { contentType: 'application/json', wrap: (text: string) => JSON.stringify({ text }) },
  gchat: { contentType: 'application/json', wrap: (text: string) => JSON.stringify({ text }) },
  raw: { contentType: 'text/plain', wrap: (text: string) => text.replaceAll('*', '') },
};
const slack = (text: string) => JSON.stringify({ attachments: [{ author_name: 'Reloader', color: 'good', text }] });
const TITLES = Object.entries(SINKS).map(([sink, how]) => [sink, how] as const);

test.each(TITLES)('11. alert to %s', async (sink, { contentType, wrap }) => {
  await using here = await scene();
  await using there = await receiver();
  await here.createSource('ConfigMap', 'app', V1);
  await here.createUser('web', 'app');
  const ALERT_SINK = sink === 'slack' ? ' Slack ' : sink;
  const env = { ALERT_ON_RELOAD: 'true', ALERT_WEBHOOK_URL: ` ${there.url}/alert `, ALERT_SINK };
  const plain = await here.start(['--compat=stakater'], { env });
  await here.setData('ConfigMap', 'app', V2);
  const [alert] = await there.untilReceived(1);
  const expected = { method: 'POST', path: '/alert', contentType };
  expect(alert).toEqual({ ...expected, body: wrap(MESSAGE(here.space)) });
  await plain.stop();

  await here.start(['--compat=stakater'], { env: { ...env, ALERT_ADDITIONAL_INFO: ' cluster eu-1 ' } });
  await here.setData('ConfigMap', 'app', V3);
  const [, second] = await there.untilReceived(2);
  expect(second).toEqual({ ...expected, body: wrap(`cluster eu-1 : ${MESSAGE(here.space)}`) });
});

test('11. alerts that cannot be sent cost log lines and no reload', async () => {
  await using here = await scene();
  await using there = await receiver();
  await here.createSource('ConfigMap', 'app', V1);
  await here.createUser('web', 'app');
  const nowhere = await here.start(['--compat=stakater'], { env: { ALERT_ON_RELOAD: 'true' } });
  await here.setData('ConfigMap', 'app', V2);
  await untilMarked(here.audit, 'Deployment', 'web', V2);
  await nowhere.untilLine(/level=error.*ALERT_WEBHOOK_URL/);
  await nowhere.stop();

  there.answer(500);
  const env = { ALERT_ON_RELOAD: 'true', ALERT_WEBHOOK_URL: `${there.url}/token-abc` };
  const refused = await here.start(['--compat=stakater'], { env });
  await here.setData('ConfigMap', 'app', V3);
  await untilMarked(here.audit, 'Deployment', 'web', V3);
  await refused.untilLine(/level=error.*alert not delivered.*500/);
  // A webhook's URL is often its password.
  expect(refused.lines.join('\n')).not.toContain('token-abc');
});
