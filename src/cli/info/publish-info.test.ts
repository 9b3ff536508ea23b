import { expect, it, onTestFinished } from 'vitest';
import type { Exchange } from '../../../test/support/scripted-api.ts';
import { startClient } from '../../../test/support/scripted-client.ts';
import { settings } from '../../../test/support/settings.ts';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import { until } from '../../../test/support/wait.ts';
import { aloneLeadership } from '../../controller/leadership.ts';
import { createLog } from '../../telemetry/log.ts';
import { publishing } from './publish-info.ts';

type Script = Parameters<typeof startClient>[0];

/** A controller that leads at once, until the test is over. */
async function lead(script: Script, argv: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  const { api, client } = await startClient(script);
  const clock = virtualClock();
  const lines: string[] = [];
  const log = createLog({ format: '', level: 'info', write: (line) => lines.push(line), now: () => 0 });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const whole = { ...settings(argv, { POD_NAMESPACE: 'tools', POD_NAME: 'attune-0', ...env }) };
  const leadership = publishing(aloneLeadership(), { client, clock, log, settings: whole });
  let begun = false;
  void leadership.run(stop.signal, async () => {
    begun = true;
  });
  return { api, clock, lines, stop, begun };
}

const object = (data: Readonly<Record<string, string>>) => ({
  metadata: { name: 'attune-info', namespace: 'tools', uid: 'u', resourceVersion: '7' },
  data,
});
const PUBLISHED = {
  version: '0.1.0',
  mode: 'default',
  identity: 'attune-0',
  flags: '--auto-reload-all=true',
  withheld: '',
};
const refuse = (code: number, reason: string) => (exchange: Exchange) => exchange.status(code, reason);
const took = (exchange: Exchange) => exchange.json(200, JSON.parse(exchange.body));
const verbs = ({ requests }: { readonly requests: readonly Exchange[] }) => requests.map(({ verb }) => verb);

it('is made where there is none', async () => {
  const { api, begun, lines } = await lead({ get: [refuse(404, 'NotFound')], create: [took] }, ['--auto-reload-all']);
  expect(begun).toBe(true);
  const { path, body } = await until(() => api.requests.find(({ verb }) => verb === 'create'), { what: 'it' });
  expect(path).toBe('/api/v1/namespaces/tools/configmaps');
  expect(JSON.parse(body)).toMatchObject({
    metadata: { name: 'attune-info', labels: { 'app.kubernetes.io/managed-by': 'attune' } },
    data: { ...PUBLISHED, publishedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) },
  });
  expect(lines).toEqual([]);
});

it('is left as it is while it says the same', async () => {
  const found = object({ ...PUBLISHED, publishedAt: '2030-01-31T12:00:04Z' });
  const { api, lines } = await lead({ get: [(exchange) => exchange.json(200, found)] }, ['--auto-reload-all']);
  await until(() => api.requests.some(({ closed }) => closed), { what: 'the look' });
  expect(verbs(api)).toEqual(['get']);
  expect(lines).toEqual([]);
});

it('gives way to who wrote it in between, and is written after that one', async () => {
  const found = object({ version: '0.0.9' });
  const { api } = await lead({
    get: [(exchange) => exchange.json(200, found)],
    update: [refuse(409, 'Conflict'), took],
  });
  const last = await until(() => api.requests.filter(({ verb }) => verb === 'update')[1], { what: 'the second try' });
  expect(JSON.parse(last.body)).toMatchObject({ metadata: { resourceVersion: '7' }, data: { version: '0.1.0' } });
  expect(verbs(api)).toEqual(['get', 'update', 'get', 'update']);
});

it('a refusal is told once, with the cure, and tried again after a while', async () => {
  const { api, clock, lines } = await lead({ get: [refuse(404, 'NotFound')], create: [refuse(403, 'Forbidden')] });
  const line = await until(() => lines[0], { what: 'the refusal' });
  expect(line).toMatch(/level=warning .*attune-info was not written: create \S+: 403 Forbidden; attune explain cannot/);
  expect(line).toContain(
    'grant create on configmaps, get and update on the one named attune-info, in the own namespace',
  );
  for (const requests of [4, 6]) {
    await until(() => clock.timers === 1, { what: 'the wait' });
    clock.advance(600_000);
    await until(() => api.requests.length === requests, { what: 'another try' });
  }
  expect(lines).toHaveLength(1);
});

it('under --compat=stakater a refusal is the end of it, and not a word is said', async () => {
  const argv = ['--compat=stakater'];
  const { api, clock, lines } = await lead({ get: [refuse(403, 'Forbidden')] }, argv);
  await until(() => api.requests.some(({ closed }) => closed), { what: 'the look' });
  await clock.run(3_600_000);
  expect(verbs(api)).toEqual(['get']);
  expect(lines).toEqual([]);
});

it('a server out of breath is waited for, and nothing is said', async () => {
  const { api, clock, lines } = await lead({
    get: [refuse(503, 'ServiceUnavailable'), refuse(404, 'NotFound')],
    create: [took],
  });
  await until(() => clock.timers === 1, { what: 'the wait' });
  clock.advance(60_000);
  await until(() => verbs(api).includes('create'), { what: 'the second try' });
  expect(lines).toEqual([]);
});

it('the end of the term is the end of all tries', async () => {
  const { api, clock, stop } = await lead({ get: [refuse(503, 'ServiceUnavailable')] });
  await until(() => clock.timers === 1, { what: 'the wait' });
  stop.abort();
  await clock.run(3_600_000);
  expect(verbs(api)).toEqual(['get']);
});

it('without a namespace of its own nothing is asked', async () => {
  const { api, begun } = await lead({}, [], { POD_NAMESPACE: '' });
  expect(begun).toBe(true);
  expect(api.requests).toEqual([]);
});
