import { formatTime } from '../../src/domain/text/rfc3339.ts';
import { KubeError, type Verb } from '../../src/kube/kube-error.ts';
import type { WatchEvent } from '../../src/kube/watch/watch.ts';
import { type VirtualClock, virtualClock } from '../support/virtual-clock.ts';
import { mergePatch } from './merge-patch.ts';

// biome-ignore lint/suspicious/noExplicitAny: raw JSON, as the server has it.
export type Json = any;

/** One thing that happened, in the server's order. */
interface Happening {
  readonly version: number;
  readonly at: number;
  readonly plural: string;
  readonly type: WatchEvent['type'];
  readonly object: Json;
}

export interface Write {
  readonly plural: string;
  readonly before: Json | undefined;
  /** Undefined: deleted. */
  readonly after: Json | undefined;
}

/**
 * An API server in memory, with one row of versions over all kinds, a history that can be asked for, and time that only
 * a test moves. It knows what a watch, a listing, a PATCH and a conflict are, and nothing else.
 */
export class Cluster {
  readonly clock: VirtualClock = virtualClock(Date.parse('2026-01-01T00:00:00Z'));
  readonly happenings: Happening[] = [];
  readonly #objects = new Map<string, Json>();
  readonly #listeners = new Set<() => void>();
  readonly #onWrite: ((write: Write) => void)[] = [];
  #version = 100;
  #uids = 0;
  /** While nobody can be reached, and up to which version watches cannot go on. */
  isBlind = false;
  forgotten = 0;

  get version(): number {
    return this.#version;
  }

  onWrite(listener: (write: Write) => void): void {
    this.#onWrite.push(listener);
  }

  /** Calls back with everything that happens from now on, until called off. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  find(plural: string, namespace: string, name: string): Json | undefined {
    return this.#objects.get(`${plural}/${namespace}/${name}`);
  }

  all(plural: string, namespace?: string): Json[] {
    const prefix = namespace === undefined ? `${plural}/` : `${plural}/${namespace}/`;
    return [...this.#objects].filter(([key]) => key.startsWith(prefix)).map(([, object]) => object);
  }

  /** Where what happened after a version begins. */
  firstAfter(version: number): number {
    const at = this.happenings.findIndex((happening) => happening.version > version);
    return at < 0 ? this.happenings.length : at;
  }

  /** As it was at a version. */
  allAt(plural: string, version: number): Json[] {
    const then = new Map<string, Json>();
    for (const happening of this.happenings) {
      if (happening.version > version) break;
      if (happening.plural !== plural) continue;
      const { namespace, name } = happening.object.metadata;
      if (happening.type === 'DELETED') then.delete(`${namespace}/${name}`);
      else then.set(`${namespace}/${name}`, happening.object);
    }
    return [...then.values()];
  }

  create(plural: string, namespace: string, body: Json): Json {
    const { name } = body.metadata;
    if (this.find(plural, namespace, name)) throw refused('create', plural, 409, 'AlreadyExists');
    this.#uids += 1;
    const metadata = {
      ...body.metadata,
      namespace,
      uid: `uid-${this.#uids}`,
      generation: 1,
      creationTimestamp: this.#now(),
    };
    return this.#store(plural, 'ADDED', undefined, { ...body, metadata });
  }

  /** Writes what `edit` makes of the object; nothing where it makes nothing new. */
  update(plural: string, namespace: string, name: string, edit: (object: Json) => Json): Json {
    const before = this.find(plural, namespace, name);
    if (!before) throw refused('patch', plural, 404, 'NotFound');
    const after = edit(structuredClone(before));
    const wanted = after.metadata.resourceVersion;
    if (wanted !== undefined && wanted !== before.metadata.resourceVersion)
      throw refused('patch', plural, 409, 'Conflict');
    if (JSON.stringify(after) === JSON.stringify(before)) return before;
    const isSpec = JSON.stringify(after.spec) !== JSON.stringify(before.spec);
    const isData = JSON.stringify(after.data) !== JSON.stringify(before.data);
    const { uid, creationTimestamp, generation } = before.metadata;
    const metadata = {
      ...after.metadata,
      uid,
      creationTimestamp,
      generation: generation + (isSpec ? 1 : 0),
      ...(isData && { managedFields: [{ time: this.#now(), fieldsV1: { 'f:data': {} } }] }),
    };
    return this.#store(plural, 'MODIFIED', before, { ...after, metadata });
  }

  patch(plural: string, namespace: string, name: string, body: Json): Json {
    return this.update(plural, namespace, name, (object) => mergePatch(object, body));
  }

  delete(plural: string, namespace: string, name: string): void {
    const before = this.find(plural, namespace, name);
    if (!before) throw refused('delete', plural, 404, 'NotFound');
    this.#objects.delete(`${plural}/${namespace}/${name}`);
    this.#tell(plural, 'DELETED', before, undefined);
  }

  /** Nobody gets through; and who comes back has to begin anew, with a listing. */
  setBlind(isBlind: boolean): void {
    this.isBlind = isBlind;
    this.forgotten = this.#version;
    for (const listener of [...this.#listeners]) listener();
  }

  #now(): string {
    return formatTime(this.clock.wall() / 1000);
  }

  #store(plural: string, type: WatchEvent['type'], before: Json | undefined, object: Json): Json {
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version + 1) } };
    this.#objects.set(`${plural}/${stored.metadata.namespace}/${stored.metadata.name}`, stored);
    this.#tell(plural, type, before, stored);
    return stored;
  }

  #tell(plural: string, type: WatchEvent['type'], before: Json | undefined, after: Json | undefined): void {
    this.#version += 1;
    const object = after ?? { ...before, metadata: { ...before.metadata, resourceVersion: String(this.#version) } };
    this.happenings.push({ version: this.#version, at: this.clock.now(), plural, type, object });
    for (const listener of [...this.#listeners]) listener();
    for (const listener of this.#onWrite) listener({ plural, before, after });
  }
}

export function refused(verb: Verb, path: string, status: number, reason: string): KubeError {
  return new KubeError({ verb, path, status, reason });
}
