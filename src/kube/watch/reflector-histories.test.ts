import fc from 'fast-check';
import { expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { configMap, type Exchange, listOf, scriptedApi } from '../../../test/support/scripted-api.ts';
import type { KubeObject } from '../../api/objects.ts';
import { CONFIG_MAPS } from '../../api/resources.ts';
import { KubeClient } from '../client.ts';
import { type ReflectEvent, Reflector } from './reflector.ts';

interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: ReturnType<typeof configMap>;
  readonly version: number;
}

/** An API server with one kind and a memory, that can be told to misbehave. */
class World {
  readonly #history: Change[] = [];
  #compacted = 0;
  readonly #watches: Exchange[] = [];
  /** Events kept back, to be sent in another order. */
  #held: Change[] = [];
  #holds = 0;
  brokenLists = 0;
  forgottenPages = 0;

  get version(): number {
    return this.#history.length;
  }

  /** What a listing at a version would show. */
  state(version = this.version): Map<string, ReturnType<typeof configMap>> {
    const objects = new Map<string, ReturnType<typeof configMap>>();
    for (const { type, object } of this.#history.slice(0, version)) {
      if (type === 'DELETED') objects.delete(object.metadata.name);
      else objects.set(object.metadata.name, object);
    }
    return objects;
  }

  change(name: string, gone: boolean): void {
    const exists = this.state().has(name);
    if (gone && !exists) return;
    const version = this.version + 1;
    const type = gone ? 'DELETED' : exists ? 'MODIFIED' : 'ADDED';
    const change: Change = { type, version, object: configMap(name, String(version)) };
    this.#history.push(change);
    if (this.#holds > 0) {
      this.#holds -= 1;
      this.#held.unshift(change);
      if (this.#holds === 0) this.flush();
    } else this.#send([change]);
  }

  /** The next `count` events arrive in reverse. */
  hold(count: number): void {
    this.flush();
    this.#holds = count;
  }

  /** What was kept back arrives now: a server may shuffle, but a connection that breaks loses only its end. */
  flush(): void {
    const held = this.#held;
    this.#held = [];
    this.#holds = 0;
    this.#send(held);
  }

  again(count: number): void {
    this.flush();
    this.#send(this.#history.slice(-count));
  }

  cut(inTheMiddle: boolean): void {
    this.flush();
    for (const watch of this.#watches.splice(0)) {
      if (inTheMiddle) void watch.write('{"type":"ADDED","object":{"metad').then(watch.cut, watch.cut);
      else watch.cut();
    }
  }

  end(): void {
    this.flush();
    for (const watch of this.#watches.splice(0)) watch.end();
  }

  nonsense(): void {
    this.flush();
    for (const watch of this.#watches.splice(0)) void watch.write('}{\n').catch(() => {});
  }

  bookmark(): void {
    this.flush();
    for (const watch of this.#watches) {
      void watch.event('BOOKMARK', { metadata: { resourceVersion: String(this.version) } }).catch(() => {});
    }
  }

  /** Forgets everything but the present; those who watch are told. */
  compact(): void {
    this.flush();
    this.#compacted = this.version;
    for (const watch of this.#watches.splice(0)) void watch.event('ERROR', EXPIRED).catch(() => {});
  }

  answer(exchange: Exchange): void {
    if (exchange.verb === 'watch') this.#watch(exchange);
    else this.#list(exchange);
  }

  #watch(exchange: Exchange): void {
    const from = Number(exchange.query.get('resourceVersion'));
    if (from < this.#compacted) {
      exchange.status(410, 'Expired');
      return;
    }
    this.flush();
    this.#watches.push(exchange);
    // A head without an event: the client must take the watch for open.
    void exchange.write('\n').catch(() => {});
    for (const { type, object } of this.#history.slice(from)) void exchange.event(type, object).catch(() => {});
  }

  #list(exchange: Exchange): void {
    const [version = this.version, offset = 0] = (exchange.query.get('continue')?.split(':') ?? []).map(Number);
    if (this.brokenLists > 0) {
      this.brokenLists -= 1;
      if (this.brokenLists % 2) exchange.cut();
      else exchange.status(500, 'InternalError');
    } else if (offset > 0 && this.forgottenPages > 0) {
      this.forgottenPages -= 1;
      exchange.status(410, 'Expired');
    } else {
      const all = [...this.state(version).values()];
      const next = offset + 2 < all.length ? `${version}:${offset + 2}` : '';
      exchange.json(200, listOf(all.slice(offset, offset + 2), String(version), { next }));
    }
  }

  #send(changes: readonly Change[]): void {
    for (const watch of this.#watches) {
      for (const { type, object } of changes) void watch.event(type, object).catch(() => {});
    }
  }
}

const EXPIRED = { kind: 'Status', code: 410, reason: 'Expired' };

type Step = (world: World) => unknown;
const few = fc.integer({ min: 1, max: 4 });
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), fc.boolean()).map(
      ([name, gone]): Step =>
        (world) =>
          world.change(name, gone),
    ),
  },
  {
    weight: 4,
    arbitrary: few.map(
      (turns): Step =>
        async () => {
          for (let i = 0; i < turns * 3; i += 1) await new Promise((resolve) => setImmediate(resolve));
        },
    ),
  },
  few.map(
    (count): Step =>
      (world) =>
        world.again(count),
  ),
  few.map(
    (count): Step =>
      (world) =>
        world.hold(count + 1),
  ),
  fc.boolean().map(
    (inTheMiddle): Step =>
      (world) =>
        world.cut(inTheMiddle),
  ),
  fc.constant<Step>((world) => world.end()),
  fc.constant<Step>((world) => world.nonsense()),
  fc.constant<Step>((world) => world.bookmark()),
  fc.constant<Step>((world) => world.compact()),
  few.map(
    (count): Step =>
      (world) => {
        world.brokenLists = count;
      },
  ),
  few.map(
    (count): Step =>
      (world) => {
        world.forgottenPages = count;
      },
  ),
);

/** What somebody knows who believes every event; complains about one that cannot be. */
function believe(shadow: Map<string, string>, event: ReflectEvent<string>): void {
  if (event.type === 'add' || event.type === 'change') {
    expect(event.previous).toBe(shadow.get(event.key));
    expect(event.type).toBe(event.previous === undefined ? 'add' : 'change');
    expect(event.value).not.toBe(event.previous);
    shadow.set(event.key, event.value);
  } else if (event.type === 'remove') {
    expect(event.previous).toBe(shadow.get(event.key));
    shadow.delete(event.key);
  }
}

test('histories with cuts, forgotten positions, duplicates and reorderings end as a fresh listing would', async () => {
  const digest = (object: KubeObject) => object.metadata.resourceVersion;
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 5, maxLength: 60 }), async (steps) => {
      const world = new World();
      const api = await scriptedApi((exchange) => world.answer(exchange));
      const client = new KubeClient(api.connection);
      const stop = new AbortController();
      const shadow = new Map<string, string>();
      const reflector = new Reflector<string>(client, CONFIG_MAPS, {}, { digest, random: () => 0 });
      const running = reflector.run(stop.signal, (event) => believe(shadow, event));
      try {
        for (const act of steps) await act(world);
        world.flush();
        world.change('last', false);
        await Promise.race([running, eventually(() => reflector.values.has('shop/last')).toBe(true)]);
        const fresh = [...world.state().values()].map((o) => [`shop/${o.metadata.name}`, o.metadata.resourceVersion]);
        expect(Object.fromEntries(reflector.values)).toEqual(Object.fromEntries(fresh));
        expect(shadow).toEqual(reflector.values);
      } finally {
        stop.abort();
        await running;
        client.close();
        await api[Symbol.asyncDispose]();
      }
    }),
    { numRuns: 150 },
  );
}, 60_000);
