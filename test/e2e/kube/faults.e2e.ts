import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeAll, expect, test } from 'vitest';
import type { DataObject, KubeObject } from '../../../src/api/objects.ts';
import { CONFIG_MAPS } from '../../../src/api/resources.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/kube-error.ts';
import { Reflector } from '../../../src/kube/watch/reflector.ts';
import { kubeClient } from '../../support/kube-client.ts';
import { type FaultRule, faultProxy } from '../../support/proxy.ts';
import { namespace } from '../../support/sandbox.ts';
import { rounds } from '../../support/soak.ts';
import { until } from '../../support/wait.ts';

const CHANGES = rounds(1500, 10_000);
const NAMES = 60;

/** About one request in five is struck, watches more often: they are few and live long. */
const FAULTS: readonly FaultRule[] = [
  { fault: { type: 'cut' }, verbs: ['watch'], rate: 0.5 },
  { fault: { type: 'expired-watch' }, verbs: ['watch'], rate: 0.1 },
  { fault: { type: 'bad-json' }, verbs: ['watch'], rate: 0.1 },
  { fault: { type: 'silence' }, rate: 0.01 },
  { fault: { type: 'status', code: 429, retryAfterSeconds: 0 }, rate: 0.05 },
  { fault: { type: 'status', code: 500 }, rate: 0.05 },
  { fault: { type: 'status', code: 410 }, verbs: ['list'], rate: 0.1 },
  { fault: { type: 'bad-json' }, rate: 0.03 },
  { fault: { type: 'cut' }, rate: 0.05 },
  { fault: { type: 'delay', ms: 20 }, rate: 0.02 },
];

let ns: string;
beforeAll(async () => {
  ns = await namespace('faults');
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

async function heapBytes(): Promise<number> {
  for (let i = 0; i < 3; i += 1) {
    collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return process.memoryUsage().heapUsed;
}

/** One change, as often as it takes. What a broken answer leaves in doubt shows itself at the next attempt. */
async function change(client: KubeClient, n: number): Promise<void> {
  const name = `cm-${(n * 7919) % NAMES}`;
  const ref = { namespace: ns, name };
  const gone = n % 5 === 0;
  for (;;) {
    try {
      if (gone) return await client.delete(CONFIG_MAPS, ref);
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { n: String(n) } };
      await client.patch(CONFIG_MAPS, ref, body, { type: 'apply', fieldManager: 'faults', force: true });
      return;
    } catch (error) {
      if (gone && KubeError.is(error, 'NotFound')) return;
      if (!KubeError.is(error)) throw error;
    }
  }
}

async function makeChanges(client: KubeClient, from: number, to: number): Promise<void> {
  let next = from;
  const work = async () => {
    while (next < to) await change(client, next++);
  };
  await Promise.all(Array.from({ length: 8 }, work));
}

test(`${CHANGES} changes under faults: the state is that of a fresh listing, and memory does not grow`, async () => {
  const proxy = await faultProxy({ seed: 20 });
  const deadlines = { idleMs: 500, watchIdleMs: 2000 };
  const client = kubeClient(proxy.access, deadlines);
  const digest = (object: KubeObject) => (object as DataObject).data?.['n'] ?? '';
  const scope = { namespace: ns, fieldSelector: 'metadata.name!=kube-root-ca.crt' };
  const reflector = new Reflector<string>(client, CONFIG_MAPS, scope, { digest, random: () => Math.random() / 20 });
  const stop = new AbortController();
  const shadow = new Map<string, string>();
  let changes = 0;
  const running = reflector.run(stop.signal, (event) => {
    if (event.type === 'add' || event.type === 'change') shadow.set(event.key, event.value);
    else if (event.type === 'remove') shadow.delete(event.key);
    changes += event.type === 'synced' ? 0 : 1;
  });

  proxy.setRules(FAULTS);
  const warm = Math.floor(CHANGES / 5);
  await makeChanges(client, 1, warm);
  const before = await heapBytes();
  await makeChanges(client, warm, CHANGES + 1);
  const after = await heapBytes();

  const fresh = async () => {
    const found: [string, string][] = [];
    for await (const { items, fresh: isFirst } of kubeClient().list<DataObject>(CONFIG_MAPS, scope)) {
      if (isFirst) found.length = 0;
      for (const item of items) found.push([`${ns}/${item.metadata.name}`, digest(item)]);
    }
    return Object.fromEntries(found);
  };
  // Asked for each time: a write whose answer was not waited for may arrive late.
  const isFresh = async () => {
    const expected = JSON.stringify(sorted(Object.entries(await fresh())));
    return JSON.stringify(sorted(reflector.values)) === expected;
  };
  await until(isFresh, { what: 'the state of a fresh listing, still under faults' });
  expect(shadow).toEqual(reflector.values);
  stop.abort();
  await running;

  const requests = [...proxy.counts.values()].reduce((sum, count) => sum + count, 0);
  expect(proxy.faults / requests).toBeGreaterThan(0.15);
  // A listing tells at once what happened while no watch was open, which may be most of it. One listing is half of this.
  expect(changes).toBeGreaterThan(2 * NAMES);
  expect(after / before).toBeLessThan(1.1);
}, 600_000);

function sorted(entries: Iterable<readonly [string, string]>): readonly (readonly [string, string])[] {
  return [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
}
