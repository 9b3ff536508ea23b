import { RELOADER_CONFIGS, type Resource } from '../../src/api/resources.ts';
import type { KubeClient, ListScope, ObjectRef, WatchOptions } from '../../src/kube/client.ts';
import type { ListOptions } from '../../src/kube/watch/listing.ts';
import type { WatchEvent } from '../../src/kube/watch/watch.ts';
import { type Cluster, type Json, refused } from './cluster.ts';

export interface Faults {
  /** How long news takes, and a call on its way there and back. */
  readonly delayMs: () => number;
  /** What becomes of a write: `unsent` never arrives, `unanswered` arrives, and the answer is lost. */
  readonly fate: () => 'answered' | 'unsent' | 'unanswered';
  /** A PATCH is about to be carried out, unless it conflicts. */
  readonly beforePatch?: ((plural: string, name: string) => void) | undefined;
  /** A PATCH was carried out. */
  readonly patched?: ((plural: string, before: Json, after: Json) => void) | undefined;
}

/** What a controller sees of the cluster. After `kill` it does nothing any more, as a process that is no more. */
export function connect(cluster: Cluster, { delayMs, fate, beforePatch, patched }: Faults) {
  let isAlive = true;
  const never = new Promise<never>(() => {});
  const alive = async (): Promise<void> => {
    if (!isAlive) await never;
  };
  const takeTime = async (): Promise<void> => {
    const ms = delayMs();
    if (ms > 0) await new Promise<void>((resolve) => void cluster.clock.after(ms, resolve));
    await alive();
  };
  const reachable = (verb: 'get' | 'list' | 'watch' | 'patch', plural: string): void => {
    if (cluster.isBlind) throw refused(verb, plural, 0, 'Unreachable');
  };
  const read = async <T>(verb: 'get' | 'list', plural: string, answer: () => T): Promise<T> => {
    await takeTime();
    reachable(verb, plural);
    return answer();
  };
  const write = async <T>(plural: string, work: () => T): Promise<T> => {
    await takeTime();
    reachable('patch', plural);
    const becomes = fate();
    if (becomes === 'unsent') throw refused('patch', plural, 0, 'Unreachable');
    const answer = work();
    await takeTime();
    if (becomes === 'unanswered') throw refused('patch', plural, 0, 'Unreachable');
    return answer;
  };
  const clean = (body: Json): Json => structuredClone(typeof body === 'string' ? JSON.parse(body) : body);

  async function* list(resource: Resource, scope: ListScope, options: ListOptions = {}) {
    const { plural } = resource;
    const [items, version] = await read('list', plural, () => [
      options.atVersion === undefined ? cluster.all(plural) : cluster.allAt(plural, options.atVersion),
      options.atVersion ?? cluster.version,
    ]);
    const name = /metadata\.name=([^,]+)/.exec(scope.fieldSelector ?? '')?.[1];
    const chosen = items
      .filter((object) => isWithin(scope, object))
      .filter(({ metadata }) => name === undefined || metadata.name === name)
      .map((object) => (options.metadataOnly ? { metadata: object.metadata } : object));
    yield { items: chosen, resourceVersion: String(version), fresh: true, full: !options.metadataOnly };
  }

  async function* watch(
    resource: Resource,
    scope: ListScope,
    from: string,
    { signal }: WatchOptions,
  ): AsyncGenerator<WatchEvent> {
    const { plural } = resource;
    await takeTime();
    let position = Number(from);
    const goOn = async (): Promise<void> => {
      await alive();
      signal.throwIfAborted();
      reachable('watch', plural);
      if (position < cluster.forgotten) throw refused('watch', plural, 410, 'Expired');
    };
    for (let next = cluster.firstAfter(position); ; ) {
      await goOn();
      const happening = cluster.happenings[next];
      if (!happening) {
        await news(cluster, signal);
        continue;
      }
      next += 1;
      if (happening.plural !== plural || !isWithin(scope, happening.object)) continue;
      const waitMs = happening.at + delayMs() - cluster.clock.now();
      if (waitMs > 0) await new Promise<void>((resolve) => void cluster.clock.after(waitMs, resolve));
      await goOn();
      position = happening.version;
      yield { type: happening.type, object: happening.object };
    }
  }

  const get = ({ plural }: Resource, { namespace = '', name }: ObjectRef) =>
    read('get', plural, () => {
      const found = cluster.find(plural, namespace, name);
      if (!found) throw refused('get', plural, 404, 'NotFound');
      return found;
    });
  const client = {
    inFlight: 0,
    list,
    watch,
    discover: async () =>
      cluster.all('reloaderconfigs').length > 0 ? [{ ...RELOADER_CONFIGS, subresources: [] }] : [],
    openApi: async () => ({}),
    serverNow: () => cluster.clock.wall(),
    onRecovery: () => {},
    get,
    read: async (resource: Resource, ref: ObjectRef, take: (object: Json) => void) => take(await get(resource, ref)),
    create: ({ plural }: Resource, namespace: string, body: Json) =>
      write(plural, () => cluster.create(plural, namespace, clean(body))),
    patch: ({ plural }: Resource, { namespace = '', name }: ObjectRef, body: Json) =>
      write(plural, () => {
        const before = cluster.find(plural, namespace, name);
        const known = before?.metadata.resourceVersion;
        if ((body.metadata?.resourceVersion ?? known) === known) beforePatch?.(plural, name);
        const after = cluster.patch(plural, namespace, name, clean(body));
        patched?.(plural, before, after);
        return after;
      }),
    replace: ({ plural }: Resource, { namespace = '', name }: ObjectRef, body: Json) =>
      write(plural, () => cluster.update(plural, namespace, name, () => clean(body))),
    delete: ({ plural }: Resource, { namespace = '', name }: ObjectRef) =>
      write(plural, () => cluster.delete(plural, namespace, name)),
  };
  return {
    client: client as unknown as KubeClient,
    kill: (): void => {
      isAlive = false;
    },
  };
}

const isWithin = ({ namespace }: ListScope, { metadata }: Json): boolean =>
  namespace === undefined || metadata.namespace === namespace;

function news(cluster: Cluster, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const stop = (): void => {
      callOff();
      signal.removeEventListener('abort', stop);
      resolve();
    };
    const callOff = cluster.listen(stop);
    signal.addEventListener('abort', stop, { once: true });
  });
}
