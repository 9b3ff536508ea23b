import { afterEach, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { type Exchange, listOf } from '../../../test/support/scripted-api.ts';
import { startClient } from '../../../test/support/scripted-client.ts';
import { tellingWorld } from '../../../test/support/telling-world.ts';
import type { SourceRef } from '../../api/sources.ts';
import { WatchReport } from '../report/watch-report.ts';
import { SourceReader } from './source-reader.ts';

const secret = (name: string): SourceRef => ({ kind: 'Secret', namespace: 'shop', name });
const APP: SourceRef = { kind: 'ConfigMap', namespace: 'shop', name: 'app' };
const object = (name: string) => ({ metadata: { namespace: 'shop', name, uid: name, resourceVersion: '7' }, data: {} });

let stop = new AbortController();
afterEach(() => {
  stop.abort();
  stop = new AbortController();
});

/** On a server that gives everything but what `mayGive` keeps back. */
async function reading(mayGive: (exchange: Exchange) => boolean) {
  const { clock, deps, lines, metric } = tellingWorld('info');
  const { api, client } = await startClient((exchange) => {
    const name = exchange.query.get('fieldSelector')?.replace('metadata.name=', '');
    if (!mayGive(exchange)) exchange.status(403, 'Forbidden');
    else if (exchange.verb === 'get') exchange.json(200, object(exchange.path.split('/').at(-1) ?? ''));
    else exchange.json(200, listOf(name === undefined ? [] : [object(name)], '9'));
  });
  const read: string[] = [];
  const known = new Set<string>();
  const reader = new SourceReader({
    client,
    clock,
    isNeeded: ({ name }) => !known.has(name),
    read: ({ name }, found) => void read.push(`${name} ${found?.metadata.resourceVersion}`),
    report: new WatchReport(deps),
  });
  void reader.run(stop.signal);
  return { api, clock, reader, read, known, lines, metric };
}

const isSecret = ({ path }: Exchange): boolean => path.includes('/secrets');

test('what may be listed and not read is listed by its name: said once, and nobody is left behind', async () => {
  const { api, reader, read, lines, metric } = await reading((e) => !isSecret(e) || e.verb === 'list');
  const names = Array.from({ length: 40 }, (_, n) => `db-${n}`);
  for (const name of names) reader.want(secret(name));
  reader.want(APP);
  await reader.settled();
  expect(read.sort()).toEqual([...names, 'app'].map((name) => `${name} 7`).sort());
  expect(lines).toEqual([expect.stringContaining('secrets may not be read one by one')]);
  expect(lines[0]).toContain('cure="grant get on secrets"');
  // Those that were under way before the first answer, and no more.
  const refused = api.requests.filter(({ verb, path }) => verb === 'get' && path.includes('/secrets/')).length;
  expect(refused).toBeLessThan(17);
  expect(metric('attune_source_read_errors_total{kind="Secret",reason="Forbidden"}')).toBe(refused);
  expect(reader.pending).toBe(0);
});

test('what may not be read at all is told once, waits visibly, and is tried again after minutes', async () => {
  const { api, clock, reader, read, lines } = await reading((e) => !isSecret(e));
  for (let n = 0; n < 40; n += 1) reader.want(secret(`db-${n}`));
  reader.want(APP);
  await reader.settled();
  expect(read).toEqual(['app 7']);
  expect(lines.filter((line) => line.includes('cannot read Secret'))).toHaveLength(1);
  expect(reader.pending).toBe(40);
  const before = api.requests.length;
  await clock.run(590_000);
  expect(api.requests.length).toBe(before);
  await clock.run(620_000);
  await eventually(() => api.requests.length).toBeGreaterThanOrEqual(before + 40);
  expect(lines.filter((line) => line.includes('cannot read Secret'))).toHaveLength(1);
});

test('what a change has brought meanwhile is not asked for any more', async () => {
  const { api, clock, reader, read, known } = await reading((e) => !isSecret(e));
  reader.want(secret('db'));
  await reader.settled();
  const before = api.requests.length;
  expect(reader.pending).toBe(1);
  known.add('db');
  expect(reader.pending).toBe(0);
  await clock.run(3_600_000);
  reader.want(APP);
  await reader.settled();
  expect(api.requests.length).toBe(before + 1);
  expect(read).toEqual(['app 7']);
});

test('a start does not wait for a second try', async () => {
  const { reader } = await reading((e) => !isSecret(e));
  reader.want(secret('db'));
  await reader.settled();
  await reader.settled();
  expect(reader.pending).toBe(1);
});
