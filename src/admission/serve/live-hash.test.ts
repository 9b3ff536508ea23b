import { describe, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import type { Exchange } from '../../../test/support/scripted-api.ts';
import { startClient } from '../../../test/support/scripted-client.ts';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import { DEFAULT_KEYS, SAP_LISTS } from '../../api/annotations.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import type { SourceKind } from '../../api/sources.ts';
import { createObjectParser } from '../../model/object-parser.ts';
import { createDigest, sha256Hex } from '../../runtime/digest.ts';
import { ADMISSION_METRICS } from '../../telemetry/metric-tables/admission.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { createLiveHash, type LiveHashDeps } from './live-hash.ts';

const digest = createDigest(Buffer.alloc(32, 7));
const parser = createObjectParser({ keys: DEFAULT_KEYS, compat: false, sapCompat: false, digest });

const object = (name: string, uid: string, resourceVersion: string, data: Readonly<Record<string, string>>) => ({
  metadata: { namespace: 'shop', name, uid, resourceVersion },
  data,
});
const APP = object('app-config', '3f2b6a5e-8c1d-4b1f-9a55-0d6f2a9c1e10', '48213', { level: 'debug' });
const DB = object('db', '9b7c1d2e-4f5a-4c3b-8d21-77aa10fe4402', '77', { pin: 'MTIzNA==' });
const TLS = object('tls', 'c0ffee00-1234-4abc-9def-000000000001', '1002', { key: 'c2VjcmV0' });
const STORED: Readonly<Record<string, unknown>> = {
  '/api/v1/namespaces/shop/configmaps/app-config': APP,
  '/api/v1/namespaces/shop/secrets/db': DB,
  '/api/v1/namespaces/shop/secrets/tls': TLS,
};
const CLIENT = '10.0.0.1';
const { signal } = new AbortController();
const question = (configMaps: unknown, secrets?: unknown, namespace = 'shop') => ({
  lists: { [SAP_LISTS.ConfigMap]: configMaps, [SAP_LISTS.Secret]: secrets },
  namespace,
});
/** As the engine sees it. */
const fingerprint = (kind: SourceKind, of: typeof APP) => parser.source(kind, of, true, undefined).fingerprint?.exact;

const fromStore = (exchange: Exchange): void => {
  const found = STORED[exchange.path];
  if (found) exchange.json(200, found);
  else exchange.status(404, 'NotFound');
};

async function start(answer: (exchange: Exchange) => void = fromStore, deps: Partial<LiveHashDeps> = {}) {
  const { client, api } = await startClient(answer);
  const metrics = createMetrics(ADMISSION_METRICS);
  const clock = virtualClock();
  const live = createLiveHash({ client, parser, contentHash: digest, clock, metrics, ...deps });
  return {
    api,
    client,
    clock,
    live,
    hash: (configMaps: unknown, secrets?: unknown, namespace = 'shop') =>
      live(question(configMaps, secrets, namespace), CLIENT, signal),
    paths: () => api.requests.map(({ path }) => path.replace(/^.*\/shop\//, '')).sort(),
    count: (result: string) => {
      const [, value] =
        new RegExp(`attune_admission_live_reads_total{result="${result}"} (\\d+)`).exec(metrics.render()) ?? [];
      return Number(value);
    },
  };
}

interface Hashes {
  readonly content: string;
  readonly versions: string;
}

describe('the hash', () => {
  test('by version is the one of SAP', async () => {
    const { hash } = await start();
    expect(await hash('app-config', 'db,tls')).toMatchObject({
      versions: 'dadf3bb58622f672d26c8e4d4aaf1f5fe9c9c37b79a17667effe44e9d4f3d067',
    });
    // An absent one counts.
    expect(await hash('nope')).toMatchObject({
      versions: 'f1172e3ebed7e5fd3c95a8764cddfe3ba2515a8f4d6e708643b4976d81f7b587',
    });
  });

  test('by content has the fingerprints that the engine compares', async () => {
    const { hash } = await start();
    const lines = [
      `configmap/shop/app-config/${fingerprint('ConfigMap', APP)}\n`,
      'configmap/shop/nope/\n',
      `secret/shop/db/${fingerprint('Secret', DB)}\n`,
    ];
    expect(await hash('app-config,nope', 'db')).toMatchObject({ content: digest.configHash(lines.join('')) });
  });

  test('without a key that is a secret, the versions are all that is told', async () => {
    const { hash } = await start(fromStore, { contentHash: undefined });
    const { content, versions } = (await hash('app-config', 'db,tls')) as Hashes;
    expect(content).toBe(versions);
  });

  test('by content proves no guess: not with the data, and not with what a Secret of another namespace shows', async () => {
    const { hash } = await start();
    const { content, versions } = (await hash('', 'db')) as Hashes;
    const guess = parser.source('Secret', { ...DB, metadata: { ...DB.metadata, namespace: 'mine' } }, true, undefined);
    const lines = [
      ...[DB.data['pin'], '1234', `pin=1234`, guess.fingerprint?.mark, guess.fingerprint?.exact],
      ...[`${DB.metadata.uid}.77`, fingerprint('Secret', DB)],
    ].map((held) => `secret/shop/db/${held}\n`);
    expect(lines.map(sha256Hex)).not.toContain(content);
    expect(lines.map(sha256Hex)).toContain(versions);
    expect(guess.fingerprint?.exact).not.toBe(fingerprint('Secret', DB));
    const other = await start(fromStore, { contentHash: createDigest(Buffer.alloc(32, 8)) });
    expect(await other.hash('', 'db')).toEqual({ content: expect.not.stringMatching(content), versions });
  });

  test('names with blanks: trimmed by content, taken as they are by version', async () => {
    const { hash, paths } = await start();
    const blank = await hash('app-config', 'db, tls');
    expect(blank).toMatchObject({ versions: 'a1cd9a83b006374eed13d1935773631ab98b1c8f52420d7fc3ee1c5465073f0f' });
    expect(await hash('app-config', 'db,tls')).toMatchObject({ content: (blank as { content: string }).content });
    expect(paths().filter((path) => path.endsWith('tls'))).toHaveLength(2);
  });

  test('of nothing', async () => {
    const { hash, api } = await start();
    const versions = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
    expect(await hash(7)).toEqual({ content: digest.configHash(''), versions });
    expect(api.requests).toHaveLength(0);
  });
});

describe('what is read', () => {
  test('each source once, however often it is listed', async () => {
    const { hash, paths, count } = await start();
    await hash('app-config,app-config, app-config,nope', 'db,app-config');
    expect(paths()).toEqual(['configmaps/app-config', 'configmaps/nope', 'secrets/app-config', 'secrets/db']);
    expect([count('success'), count('error'), count('timeout')]).toEqual([4, 0, 0]);
  });

  test.each([
    ['Upper'],
    ['a_b'],
    ['..'],
    ['a/b'],
    ['a b'],
    ['-a'],
    ['a.'],
    ['a..b'],
    ['x'.repeat(254)],
    ['ü'],
    ['a\n'],
  ])('no object can be called %j: absent without a request', async (name) => {
    const { hash, api } = await start();
    expect(await hash(name)).toEqual({
      content: digest.configHash(`configmap/shop/${name.trim()}/\n`),
      versions: sha256Hex(`configmap/shop/${name}/\n`),
    });
    expect(api.requests.map(({ path }) => path)).toEqual(name === 'a\n' ? [expect.stringMatching(/\/a$/)] : []);
  });

  test.each([[''], ['..'], ['a/b']])('nor a namespace %j', async (namespace) => {
    const { hash, api } = await start();
    expect(await hash('app-config', '', namespace)).toMatchObject({ content: expect.any(String) });
    expect(api.requests).toHaveLength(0);
  });

  test('many at once, but not all', async () => {
    const held: Exchange[] = [];
    const full = Promise.withResolvers<void>();
    let isOpen = false;
    const { hash, client } = await start((exchange) => {
      if (isOpen || exchange.path.endsWith('/probe')) return exchange.status(404, 'NotFound');
      if (held.push(exchange) === 32) full.resolve();
    });
    const done = hash(Array.from({ length: 100 }, (_, index) => `n${index}`).join());
    await full.promise;
    // What was sent before has arrived before.
    await client.get(CONFIG_MAPS, { name: 'probe' }).catch(() => {});
    expect(held).toHaveLength(32);
    isOpen = true;
    for (const exchange of held) exchange.status(404, 'NotFound');
    expect(await done).toMatchObject({ content: expect.any(String) });
  });
});

describe('what cannot be told', () => {
  test('a source that may not be read: the error names it and says why', async () => {
    const { hash, count } = await start((exchange) =>
      exchange.path.includes('/secrets/') ? exchange.status(403, 'Forbidden', 'no get') : fromStore(exchange),
    );
    const { error } = (await hash('app-config', 'db')) as { error: string };
    expect(error).toMatch(/^Secret shop\/db cannot be read: .*403 Forbidden: no get$/);
    expect([count('error'), count('timeout')]).toEqual([1, 0]);
  });

  test.each([
    ['a server that is in trouble', (exchange: Exchange) => exchange.status(500, 'InternalError')],
    ['an object that is none', (exchange: Exchange) => exchange.json(200, ['pin'])],
    ['an answer that breaks off', (exchange: Exchange) => exchange.cut()],
  ])('%s', async (_, answer) => {
    const { hash } = await start(answer);
    expect(await hash('app-config', 'db')).toEqual({ error: expect.stringContaining(' cannot be read: ') });
  });

  test('more sources than one review may list: nothing is read', async () => {
    const { hash, api } = await start();
    const names = Array.from({ length: 4097 }, (_, index) => `n${index}`).join();
    expect(await hash(names)).toEqual({ error: '4097 sources are listed: expected at most 4096' });
    expect(api.requests).toHaveLength(0);
  });

  test('what is not read when the time of the review is over: the calls are called off, all together', async () => {
    const held: Exchange[] = [];
    const both = Promise.withResolvers<void>();
    const { live, count } = await start((exchange) => {
      if (held.push(exchange) === 2) both.resolve();
    });
    const review = new AbortController();
    const done = live(question('app-config', 'db'), CLIENT, review.signal);
    await both.promise;
    expect(held.map(({ closed }) => closed)).toEqual([false, false]);
    review.abort();
    expect(await done).toEqual({ error: 'ConfigMap shop/app-config cannot be read: no time is left' });
    await eventually(() => held.every(({ closed }) => closed)).toBe(true);
    expect([count('success'), count('error'), count('timeout')]).toEqual([0, 0, 2]);
  });
});

describe('reviews at once', () => {
  const names = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`).join();

  /** An API server that answers only when it is told to, and counts what it was asked for at most at once. */
  async function heldApi() {
    const waiting: Exchange[] = [];
    let most = 0;
    let isOpen = false;
    const world = await start((exchange) => {
      if (isOpen) return exchange.status(404, 'NotFound');
      most = Math.max(most, waiting.push(exchange));
    });
    return {
      ...world,
      waiting,
      most: () => most,
      open: () => {
        isOpen = true;
        for (const exchange of waiting.splice(0)) exchange.status(404, 'NotFound');
      },
    };
  }

  test('20 with the same 64 sources: two reads of each, and 32 at once', async () => {
    const { live, api, waiting, most, open } = await heldApi();
    const all = Array.from({ length: 20 }, () => live(question(names(64)), CLIENT, signal));
    await eventually(() => waiting.length).toBe(32);
    open();
    const hashes = await Promise.all(all);
    expect(new Set(hashes.map((hash) => JSON.stringify(hash))).size).toBe(1);
    expect(most()).toBe(32);
    // All asked before the first read was sent, but for those that were under way when a review came to its next names.
    expect(api.requests.length).toBeLessThanOrEqual(2 * 64);
  });

  test('one that comes while a source is read does not take what that read finds', async () => {
    const versions = ['1', '2'];
    const held: Exchange[] = [];
    const { live, api } = await start((exchange) => void held.push(exchange));
    const answer = (): void => held.shift()?.json(200, object('app-config', 'u', versions.shift() ?? '', {}));
    const first = live(question('app-config'), CLIENT, signal);
    await eventually(() => held.length).toBe(1);
    const later = [1, 2, 3].map(() => live(question('app-config'), CLIENT, signal));
    answer();
    await eventually(() => held.length).toBe(1);
    answer();
    const versionOf = async (hash: ReturnType<typeof live>) => (await hash) as { versions: string };
    expect((await versionOf(first)).versions).toBe(sha256Hex('configmap/shop/app-config/u.1\n'));
    for (const hash of later) {
      expect((await versionOf(hash)).versions).toBe(sha256Hex('configmap/shop/app-config/u.2\n'));
    }
    expect(api.requests).toHaveLength(2);
  });

  test('one that comes while a read takes long does not wait for its end', async () => {
    const held: Exchange[] = [];
    const { live, clock } = await start((exchange) => void held.push(exchange));
    const stalled = live(question('app-config'), CLIENT, signal);
    await eventually(() => held.length).toBe(1);
    const later = live(question('app-config'), CLIENT, signal);
    await eventually(() => clock.timers).toBe(1);
    clock.advance(500);
    await eventually(() => held.length).toBe(2);
    held[1]?.json(200, object('app-config', 'u', '2', {}));
    expect(await later).toMatchObject({ versions: sha256Hex('configmap/shop/app-config/u.2\n') });
    held[0]?.status(404, 'NotFound');
    expect(await stalled).toMatchObject({ versions: sha256Hex('configmap/shop/app-config/\n') });
  });

  test('a review whose time is over sends nothing any more, however much it listed', async () => {
    const { live, api, waiting, count } = await heldApi();
    const review = new AbortController();
    const done = live(question(names(200)), CLIENT, review.signal);
    await eventually(() => waiting.length).toBe(32);
    review.abort(new Error('over'));
    expect(await done).toMatchObject({ error: expect.stringContaining('no time is left') });
    await eventually(() => count('timeout')).toBe(32);
    expect(api.requests).toHaveLength(32);
  });

  test('of one address keep no other waiting, and all of them are 64 reads at once', async () => {
    const { live, waiting, most, open } = await heldApi();
    const flood = Array.from({ length: 50 }, (_, index) =>
      live(question(names(20).replaceAll('n', `f${index}-`)), CLIENT, signal),
    );
    await eventually(() => waiting.length).toBe(32);
    const others = ['10.0.0.2', '10.0.0.3'].map((client) =>
      live(question(names(32).replaceAll('n', `${client}-`)), client, signal),
    );
    await eventually(() => waiting.length).toBe(64);
    expect(waiting.filter(({ path }) => !path.includes('10.0.0.'))).toHaveLength(32);
    open();
    for (const hash of await Promise.all([...flood, ...others])) expect(hash).toHaveProperty('content');
    expect(most()).toBe(64);
  });
});
