import { afterEach } from 'vitest';
import { KubeClient } from '../../src/kube/client.ts';
import type { EventPost } from '../../src/kube/events/event-post.ts';
import { EventSink } from '../../src/kube/events/event-sink.ts';
import { eventually } from './eventually.ts';
import { type Answer, scriptedApi } from './scripted-api.ts';
import { virtualClock } from './virtual-clock.ts';

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
});

type Script = Partial<Record<'create' | 'patch' | 'get', readonly Answer[]>>;

/** A sink of Events before a scripted server, by a clock that the test moves. */
export async function startSink(script: Script = {}, maxBytes?: number) {
  const ok: Answer = (exchange) => exchange.json(200, {});
  const api = await scriptedApi({ create: [ok], patch: [ok], get: [ok], ...script });
  const client = new KubeClient(api.connection);
  const clock = virtualClock(Date.UTC(2001, 0, 1));
  cleanUp.push(
    () => api[Symbol.asyncDispose](),
    () => client.close(),
  );
  const told: string[] = [];
  const sink = new EventSink({
    client,
    clock,
    maxBytes,
    report: {
      dropping: (cause, { regarding }) => void told.push(`dropping: ${cause}, ${regarding.name}`),
      dropped: (cause, count) => void told.push(`dropped: ${cause}, ${count}`),
      refused: ({ reason }) => void told.push(`refused: ${reason}`),
    },
  });
  /** Until so many have been handled. */
  const handled = async (count: number, stepMs = 20) => {
    await eventually(() => {
      clock.advance(stepMs);
      return sink.counts.sent + sink.counts.failed;
    }).toBe(count);
  };
  return { api, client, clock, sink, told, handled };
}

export const event = (message: string, name = 'web'): EventPost => ({
  regarding: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name, uid: `uid-${name}` },
  type: 'Normal',
  reason: 'Reloaded',
  message,
  component: 'attune',
  fieldManager: 'attune',
});
