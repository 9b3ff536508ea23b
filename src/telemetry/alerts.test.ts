import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { type AlertSettings, type Alerts, createAlerts } from './alerts.ts';
import type { LogFields } from './log.ts';

const ALERT = {
  source: 'app',
  sourceType: 'CONFIGMAP',
  namespaces: ['shop'],
  workload: 'web',
  workloadKind: 'Deployment',
  workloadNamespace: 'shop',
};
const TEXT =
  'Reloader detected changes in *app* of type *CONFIGMAP* in namespace *shop*. ' +
  'Hence reloaded *web* of type *Deployment* in namespace *shop*';

const receivers: http.Server[] = [];
afterEach(async () => {
  for (const server of receivers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** Answers with these statuses one after the other, the last one for ever; 0 breaks the connection. */
async function receiver(...statuses: number[]) {
  const seen: { readonly type: string | undefined; readonly body: string; readonly url: string | undefined }[] = [];
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      seen.push({ type: request.headers['content-type'], body: Buffer.concat(chunks).toString(), url: request.url });
      const status = statuses.length > 1 ? statuses.shift() : statuses[0];
      if (status === 0) request.socket.destroy();
      else response.writeHead(status ?? 200, { location: '/moved', 'retry-after': '3' }).end('answer');
    });
  });
  receivers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { seen, host, url: `http://${host}/hunter2` };
}

/** Waits for nothing, but remembers for how long it should have. */
function impatient(waits: number[]): Clock {
  return {
    now: () => 0,
    wall: () => 0,
    after(ms, fn) {
      waits.push(ms);
      const soon = setImmediate(fn);
      return () => clearImmediate(soon);
    },
  };
}

function alertsTo(settings: Partial<AlertSettings>, clock?: Clock) {
  const said: (LogFields & { readonly message: string })[] = [];
  const counted: string[] = [];
  const waits: number[] = [];
  const say = (message: string, fields: LogFields = {}): void => void said.push({ message, ...fields });
  const alerts: Alerts = createAlerts(
    { enabled: true, url: '', sink: 'raw', additionalInfo: undefined, proxy: '', ...settings },
    {
      log: { debug: () => {}, info: say, warn: say, error: say },
      clock: clock ?? impatient(waits),
      metrics: { increment: (name, ...[labels]) => void counted.push(`${name} ${JSON.stringify(labels)}`) },
    },
  );
  return { alerts, said, counted, waits };
}

const success = 'attune_alerts_total {"result":"success"}';
const failure = 'attune_alerts_total {"result":"error"}';

test.each<[AlertSettings['sink'], string, string]>([
  ['slack', 'application/json', `{"attachments":[{"author_name":"Reloader","color":"good","text":"${TEXT}"}]}`],
  ['teams', 'application/json', `{"text":"${TEXT}"}`],
  ['gchat', 'application/json', `{"text":"${TEXT}"}`],
  ['raw', 'text/plain', TEXT.replaceAll('*', '')],
])('%s', async (sink, type, body) => {
  const { seen, url } = await receiver(200);
  const { alerts, said, counted } = alertsTo({ sink, url });
  alerts.send(ALERT);
  await eventually(() => counted).toEqual([success]);
  expect(seen).toEqual([{ type, body, url: '/hunter2' }]);
  expect(said).toEqual([]);
});

test('several sources are one message that lists them', async () => {
  const { seen, url } = await receiver(200);
  const { alerts, counted } = alertsTo({ sink: 'raw', url });
  alerts.send({ ...ALERT, source: 'ConfigMap app, db and 38 more', sourceType: undefined });
  await eventually(() => counted).toEqual([success]);
  expect(seen[0]?.body).toBe(
    'Reloader detected changes in ConfigMap app, db and 38 more in namespace shop. ' +
      'Hence reloaded web of type Deployment in namespace shop',
  );
});

test.each([
  ['prod', `prod : ${TEXT}`],
  ['', ` : ${TEXT}`],
])('the additional information %j comes first', async (additionalInfo, text) => {
  const { seen, url } = await receiver(200);
  const { alerts, counted } = alertsTo({ sink: 'teams', url, additionalInfo });
  alerts.send(ALERT);
  await eventually(() => counted).toEqual([success]);
  expect(seen[0]?.body).toBe(JSON.stringify({ text }));
});

test.each<[AlertSettings['sink'], number, boolean]>([
  ['slack', 204, true],
  ['slack', 302, false],
  ['slack', 404, false],
  ['raw', 202, true],
  ['raw', 400, false],
  ['teams', 202, true],
  ['teams', 301, false],
  ['gchat', 200, true],
  ['gchat', 202, false],
])('%s takes %i for success: %s', async (sink, status, ok) => {
  const { seen, url, host } = await receiver(status);
  const { alerts, said, counted } = alertsTo({ sink, url });
  alerts.send(ALERT);
  await eventually(() => counted).toEqual([ok ? success : failure]);
  expect(seen).toHaveLength(1);
  expect(said).toEqual(
    ok ? [] : [{ message: 'alert not delivered', sink, host, attempt: 1, error: `status ${status}` }],
  );
});

test('what may pass is tried again, and nothing is sent twice after success', async () => {
  const { seen, url } = await receiver(500, 0, 429, 200);
  const { alerts, said, counted, waits } = alertsTo({ url });
  alerts.send(ALERT);
  await eventually(() => counted).toEqual([success]);
  expect(seen).toHaveLength(4);
  expect(said.map(({ message }) => message)).toEqual(['alert not delivered, trying again']);
  expect(waits.filter((ms) => ms === 3000)).toHaveLength(2);
  expect(waits.find((ms) => ms !== 3000)).toBeGreaterThanOrEqual(1000);
});

test('after five attempts it is given up with a line that hides the secret, and the next alert has its turn', async () => {
  const { seen, url, host } = await receiver(500, 500, 500, 500, 500, 200);
  const { alerts, said, counted } = alertsTo({ url, sink: 'slack' });
  alerts.send(ALERT);
  alerts.send({ ...ALERT, workload: 'other' });
  await eventually(() => counted).toEqual([failure, success]);
  expect(seen).toHaveLength(6);
  const line = { sink: 'slack', host, error: 'status 500' };
  expect(said).toEqual([
    { message: 'alert not delivered, trying again', attempt: 1, ...line },
    { message: 'alert not delivered', attempt: 5, ...line },
  ]);
  expect(JSON.stringify(said)).not.toContain('hunter2');
});

test('alerts go through the proxy, if there is one', async () => {
  const { seen, host } = await receiver(200);
  const { alerts, counted } = alertsTo({ url: 'http://hooks.example/x', proxy: `http://${host}` });
  alerts.send(ALERT);
  await eventually(() => counted).toEqual([success]);
  expect(seen[0]?.url).toBe('http://hooks.example/x');
});

test.each([{ url: '' }, { url: 'hooks.example/x' }, { url: 'http://h/', proxy: 'socks5://p' }])(
  'without usable addresses (%j) that is said once, and nothing is sent',
  (settings) => {
    const { alerts, said } = alertsTo(settings);
    alerts.send(ALERT);
    alerts.send(ALERT);
    expect(said.map(({ message }) => message)).toEqual([
      'no alert is sent: ALERT_WEBHOOK_URL or ALERT_WEBHOOK_PROXY is missing or no URL',
    ]);
  },
);

test('switched off: nothing is sent and nothing said', () => {
  const { alerts, said } = alertsTo({ enabled: false });
  alerts.send(ALERT);
  expect(said).toEqual([]);
});

test('when a thousand wait, further ones are dropped, counted and said', async () => {
  const silent = http.createServer(() => {});
  receivers.push(silent);
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as AddressInfo;
  const { alerts, said, counted } = alertsTo({ url: `http://127.0.0.1:${port}/` }, systemClock);
  for (let sent = 0; sent < 1003; sent++) alerts.send(ALERT);
  expect(counted).toEqual(Array.from({ length: 3 }, () => 'attune_alerts_total {"result":"dropped"}'));
  expect(said).toHaveLength(3);
  await alerts.drain(10);
});

test('draining delivers what waits', async () => {
  const { seen, url } = await receiver(200);
  const { alerts } = alertsTo({ url }, systemClock);
  for (let sent = 0; sent < 10; sent++) alerts.send(ALERT);
  await alerts.drain(10_000);
  expect(seen).toHaveLength(10);
});
