import { request } from 'node:https';
import { beforeAll, expect, test } from 'vitest';
import { type FaultProxy, faultProxy } from '../../support/proxy.ts';
import { type ApiRefusal, api, namespace } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';

let space: string;
let proxy: FaultProxy;
const path = () => `/api/v1/namespaces/${space}/configmaps`;

beforeAll(async () => {
  space = await namespace('proxy');
  proxy = await faultProxy({ seed: 7 });
  await api().create(path(), { metadata: { name: 'one' }, data: { big: 'x'.repeat(10_000) } });
});

test('without rules it passes everything on and counts it by verb and resource', async () => {
  proxy.setRules([]);
  proxy.resetCounts();
  const client = api(proxy.access);
  await client.list(path());
  await client.get(`${path()}/one`);
  await client.create(path(), { metadata: { name: 'two' } });
  await client.patch(`${path()}/two`, { data: { a: '1' } });
  await client.delete(`${path()}/two`);
  expect(Object.fromEntries(proxy.counts)).toEqual({
    'list configmaps': 1,
    'get configmaps': 1,
    'create configmaps': 1,
    'patch configmaps': 1,
    'delete configmaps': 1,
  });
});

test.each([409, 429, 500, 410])('answers %i where a rule says so, as often as it says', async (code) => {
  proxy.setRules([{ verbs: ['get'], path: /configmaps\/one$/, fault: { type: 'status', code }, times: 1 }]);
  const client = api(proxy.access);
  expect(((await client.get(`${path()}/one`).catch((error) => error)) as ApiRefusal).status).toBe(code);
  expect((await client.get(`${path()}/one`)).metadata.name).toBe('one');
});

test('sends Retry-After with a 429', async () => {
  proxy.setRules([{ fault: { type: 'status', code: 429, retryAfterSeconds: 3 } }]);
  expect((await rawGet(`${path()}/one`)).headers['retry-after']).toBe('3');
});

test('cuts an answer in the middle', async () => {
  proxy.setRules([{ fault: { type: 'cut', afterBytes: 100 }, times: 1 }]);
  await expect(rawGet(`${path()}/one`)).rejects.toThrow('aborted');
});

test('gives half a document for the whole', async () => {
  proxy.setRules([{ fault: { type: 'bad-json' }, times: 1 }]);
  await expect(api(proxy.access).get(`${path()}/one`)).rejects.toThrow(SyntaxError);
});

test('strikes the same requests for the same seed, at about the rate asked for', async () => {
  const outcomes = async (seed: number) => {
    const other = await faultProxy({ seed });
    other.setRules([{ fault: { type: 'status', code: 500 }, rate: 0.5 }]);
    const codes: boolean[] = [];
    for (let index = 0; index < 40; index++) {
      codes.push(
        await api(other.access)
          .get(`${path()}/one`)
          .then(
            () => true,
            () => false,
          ),
      );
    }
    return codes;
  };
  const first = await outcomes(3);
  expect(await outcomes(3)).toEqual(first);
  expect(first.filter(Boolean).length).toBeGreaterThan(8);
  expect(first.filter(Boolean).length).toBeLessThan(32);
});

test('passes a watch on as it comes, and breaks it on demand', async () => {
  proxy.setRules([]);
  const lines: string[] = [];
  let broken = false;
  const { hostname, port } = new URL(proxy.access.server);
  const sent = request({
    hostname,
    port,
    path: `${path()}?watch=true`,
    ca: proxy.access.authority,
    headers: { authorization: `Bearer ${proxy.access.token}` },
  });
  sent.on('response', (answer) => {
    answer.on('data', (chunk: Buffer) => lines.push(chunk.toString()));
    answer.on('error', () => {
      broken = true;
    });
  });
  sent.end();
  await until(() => lines.join('').includes('"name":"one"'), { what: 'the first event' });
  expect(proxy.cutWatches()).toBe(1);
  await until(() => broken, { what: 'the watch breaking' });
});

test('says in a watch that it came too late', async () => {
  proxy.setRules([{ verbs: ['watch'], fault: { type: 'expired-watch' } }]);
  const { text } = await rawGet(`${path()}?watch=true`);
  expect(JSON.parse(text)).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
});

function rawGet(target: string): Promise<{ headers: Record<string, unknown>; text: string }> {
  return new Promise((resolve, reject) => {
    const url = new URL(target, proxy.access.server);
    const headers = { authorization: `Bearer ${proxy.access.token}` };
    const sent = request(url, { ca: proxy.access.authority, headers, agent: false }, (answer) => {
      let text = '';
      answer.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      answer.on('end', () => resolve({ headers: answer.headers, text }));
      answer.on('error', reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}
