import { beforeAll, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/api/objects.ts';
import { CONFIG_MAPS, EVENTS } from '../../../src/api/resources.ts';
import type { EventPost } from '../../../src/kube/events/event-post.ts';
import { EventSink } from '../../../src/kube/events/event-sink.ts';
import { kubeClient } from '../../support/kube-client.ts';
import { namespace } from '../../support/sandbox.ts';

let ns: string;
beforeAll(async () => {
  ns = await namespace('events');
});

interface Event extends KubeObject {
  readonly count: number;
  readonly reason: string;
  readonly message: string;
  readonly involvedObject: { readonly name: string; readonly uid: string };
}

test('Events are there before close returns, and repetitions are one Event', async () => {
  const client = kubeClient();
  const { metadata } = await client.create(CONFIG_MAPS, ns, { metadata: { name: 'app' } });
  const sink = new EventSink({ client });
  const post = (message: string): EventPost => ({
    regarding: { apiVersion: 'v1', kind: 'ConfigMap', namespace: ns, name: 'app', uid: metadata.uid },
    type: 'Normal',
    reason: 'Reloaded',
    message,
    component: 'attune',
    fieldManager: 'attune',
  });
  for (const message of ['one', 'two', 'one', 'one']) sink.post(post(message));
  await sink.close(40_000);
  expect(sink.counts).toEqual({ sent: 4, dropped: 0, failed: 0 });
  const scope = { namespace: ns, fieldSelector: `involvedObject.uid=${metadata.uid}` };
  const items = (await client.list<Event>(EVENTS, scope).next()).value?.items ?? [];
  expect(Object.fromEntries(items.map(({ message, count }) => [message, count]))).toEqual({ one: 3, two: 1 });
});
