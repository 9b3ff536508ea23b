import { afterEach } from 'vitest';
import type { DataObject, KubeObject } from '../../src/api/objects.ts';
import { CONFIG_MAPS } from '../../src/api/resources.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { type ReflectEvent, type ReflectOptions, Reflector } from '../../src/kube/watch/reflector.ts';
import { eventually } from './eventually.ts';
import { configMap, type ScriptedApi, scriptedApi } from './scripted-api.ts';

export const cleanUp: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
});

export const value = (source: KubeObject) => (source as DataObject).data?.['value'] ?? '?';

/** A reflector at work on a script, and everything it told so far, one short line per event. */
export async function startReflector(
  script: Parameters<typeof scriptedApi>[0],
  options: Partial<ReflectOptions<string>> & { readonly watchIdleMs?: number } = {},
) {
  const api: ScriptedApi = await scriptedApi(script);
  const client = new KubeClient(api.connection, { watchIdleMs: options.watchIdleMs });
  const stop = new AbortController();
  const told: string[] = [];
  const events: ReflectEvent<string>[] = [];
  const reflector = new Reflector<string>(
    client,
    CONFIG_MAPS,
    { namespace: 'shop' },
    {
      digest: value,
      random: () => 0,
      ...options,
    },
  );
  const running = reflector.run(stop.signal, (event) => {
    events.push(event);
    told.push(describeEvent(event));
  });
  cleanUp.push(
    () => api[Symbol.asyncDispose](),
    () => client.close(),
    () => running,
    () => stop.abort(),
  );
  const untilTold = (line: string) => eventually(() => told).toContain(line);
  return { api, client, reflector, stop, running, told, events, untilTold };
}

function describeEvent(event: ReflectEvent<string>): string {
  switch (event.type) {
    case 'add':
    case 'change':
      return `${event.type} ${event.key} ${event.previous ?? ''}→${event.value}${event.initial ? ' listed' : ''}`;
    case 'remove':
      return `remove ${event.key} ${event.previous}`;
    case 'bookmark':
      return `bookmark ${event.resourceVersion}`;
    case 'synced':
      return `synced ${event.resourceVersion}`;
    case 'unwatchable':
      return 'unwatchable';
    case 'unavailable':
      return `unavailable ${event.error.message}`;
  }
}

export const object = (name: string, version: number, text = `v${version}`) =>
  configMap(name, String(version), { value: text });
export const quiet = () => {};
