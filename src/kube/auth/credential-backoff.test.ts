import { expect, test } from 'vitest';
import { startClient as start } from '../../../test/support/scripted-client.ts';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import { kindNamed } from '../../api/kinds.ts';
import { CONFIG_MAPS, LEASES, type Resource } from '../../api/resources.ts';
import type { KubeClient } from '../client.ts';

const DEPLOYMENTS = kindNamed('Deployment') as Resource;
const get = (client: KubeClient, resource = CONFIG_MAPS) => client.get(resource, { namespace: 'a', name: 'b' });
/** Asks every second, for so many of them. */
async function insist(client: KubeClient, clock: { advance(ms: number): void }, seconds: number, resource?: Resource) {
  for (let n = 0; n < seconds; n += 1) {
    await expect(get(client, resource)).rejects.toMatchObject({ status: 401, reason: 'Unauthorized' });
    clock.advance(1000);
  }
}

test('a credential that is refused is shown more and more seldom, however often somebody asks', async () => {
  const clock = virtualClock();
  const codes: string[] = [];
  const observe = ({ code }: { readonly code: string }) => codes.push(code);
  const { api, client } = await start((e) => e.status(401, 'Unauthorized'), { clock, observe });
  await insist(client, clock, 30);
  expect(api.requests.length).toBeGreaterThan(3);
  expect(api.requests.length).toBeLessThan(9);
  expect(codes).toEqual(api.requests.map(() => '401'));
  await insist(client, clock, 600);
  expect(api.requests.length).toBeLessThan(9 + 600 / 30 + 5);
});

test('while one asks, the others wait for its answer', async () => {
  const clock = virtualClock();
  const { api, client } = await start((e) => e.status(401, 'Unauthorized'), { clock });
  await insist(client, clock, 1);
  const asked = api.requests.length;
  await Promise.allSettled(Array.from({ length: 20 }, () => get(client)));
  expect(api.requests).toHaveLength(asked + 1);
});

test('another credential is shown at once', async () => {
  const clock = virtualClock();
  let token = 'old';
  const { client } = await start(
    (e) => (e.headers.authorization === 'Bearer new' ? e.json(200, {}) : e.status(401, 'Unauthorized')),
    { clock },
    { authorization: () => `Bearer ${token}` },
  );
  await insist(client, clock, 100);
  token = 'new';
  await get(client);
});

test('a part of the API that somebody else serves is closed alone; a Lease never is', async () => {
  const clock = virtualClock();
  const { api, client } = await start(
    (e) => (e.path.startsWith('/apis/apps/') ? e.json(200, {}) : e.status(401, 'Unauthorized')),
    { clock },
  );
  await insist(client, clock, 10);
  await get(client, DEPLOYMENTS);
  const asked = api.requests.length;
  await insist(client, { advance() {} }, 10, LEASES);
  expect(api.requests.length).toBeGreaterThanOrEqual(asked + 10);
});

test('accepted once, it is as if it had never been refused', async () => {
  const clock = virtualClock();
  let isRefused = true;
  const { api, client } = await start((e) => (isRefused ? e.status(401, 'Unauthorized') : e.json(200, {})), { clock });
  await insist(client, clock, 100);
  isRefused = false;
  clock.advance(60_000);
  await get(client);
  isRefused = true;
  await insist(client, clock, 1);
  const asked = api.requests.length;
  await insist(client, clock, 1);
  expect(api.requests.length).toBeGreaterThan(asked);
});

test.each([
  ['Bearer hunter2', {}, 'does not accept the token: it has expired, was withdrawn, or is that of another cluster'],
  ['Basic hunter2', {}, 'does not accept the user name with the password'],
  [undefined, {}, 'wants a credential, and there is none in the kubeconfig'],
])('it is told which credential was refused, and not quoted: %s', async (header, tls, words) => {
  const { api, client } = await start(
    (e) => e.status(401, 'Unauthorized'),
    {},
    { authorization: () => header, tls: () => tls },
  );
  const said = await get(client).catch((error: Error) => error.message);
  const { host } = api.connection.server;
  expect(said).toBe(`get /api/v1/namespaces/a/configmaps/b: 401 Unauthorized: ${host} ${words}`);
});
