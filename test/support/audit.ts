import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { type KindName, WORKLOAD_KINDS } from '../../src/api/kinds.ts';
import { CONFIG_MAPS, EVENTS, LEASES, RELOADER_CONFIGS, type Resource, SECRETS } from '../../src/api/resources.ts';
import type { ApiAccess } from '../../src/sandbox/control-plane/api-request.ts';
import { type AnyObject, api, controlPlane } from './sandbox.ts';
import { kindRow } from './workloads.ts';

const REPLICA_SETS: Resource = { ...kindRow('Deployment'), kind: 'ReplicaSet', plural: 'replicasets' };
const PODS: Resource = { ...CONFIG_MAPS, kind: 'Pod', plural: 'pods' };
const OTHERS = {
  ConfigMap: CONFIG_MAPS,
  Secret: SECRETS,
  Event: EVENTS,
  Lease: LEASES,
  ReplicaSet: REPLICA_SETS,
  Pod: PODS,
  ReloaderConfig: RELOADER_CONFIGS,
};
export type AuditedKind = KindName | keyof typeof OTHERS;

const RESOURCES = new Map<string, Resource>([
  ...WORKLOAD_KINDS.map((row) => [row.kind, row] as const),
  ...Object.entries(OTHERS),
]);

/** One version of an object; of a deleted one, the last. */
export interface Sighting {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: AnyObject;
}

/** Sees every version that objects of a namespace go through, by watches of its own. */
export class Audit {
  readonly #access: ApiAccess;
  readonly #namespace: string;
  readonly #sightings = new Map<AuditedKind, Map<string, Sighting[]>>();
  readonly #waiting = new Set<() => void>();
  readonly #stopping = new AbortController();
  readonly #watching: Promise<void>[] = [];

  private constructor(namespace: string, access: ApiAccess) {
    this.#namespace = namespace;
    this.#access = access;
  }

  /** Begins with what is there now. */
  static async of(
    namespace: string,
    kinds: readonly AuditedKind[],
    access: ApiAccess = controlPlane(),
  ): Promise<Audit> {
    const audit = new Audit(namespace, access);
    await Promise.all(kinds.map((kind) => audit.#begin(kind)));
    return audit;
  }

  /** Every version of an object since the beginning, oldest first. */
  sightings(kind: AuditedKind, name: string): readonly Sighting[] {
    return this.#sightings.get(kind)?.get(name) ?? [];
  }

  /** Every version of every object of a kind, those of one object in their order. */
  every(kind: AuditedKind): readonly Sighting[] {
    return [...(this.#sightings.get(kind)?.values() ?? [])].flat();
  }

  /** The newest version; undefined if there is none or it was deleted. */
  latest(kind: AuditedKind, name: string): AnyObject | undefined {
    const last = this.sightings(kind, name).at(-1);
    return last?.type === 'DELETED' ? undefined : last?.object;
  }

  /** The newest versions of all that exist of a kind. */
  all(kind: AuditedKind): readonly AnyObject[] {
    const lasts = [...(this.#sightings.get(kind)?.values() ?? [])].map((seen) => seen.at(-1));
    return lasts.flatMap((last) => (last && last.type !== 'DELETED' ? [last.object] : []));
  }

  /** The pod templates that a workload went through, each once per turn: one more than it was rolled. */
  templates(kind: KindName, name: string): readonly string[] {
    const texts = this.sightings(kind, name).map(({ object }) => JSON.stringify(templateIn(kind, object)));
    return texts.filter((text, at) => text !== texts[at - 1]);
  }

  /** Asks anew with every sighting until the answer is neither false nor undefined. */
  async until<T>(
    what: string | (() => string),
    condition: () => T | false | undefined,
    deadlineMs = 60_000,
  ): Promise<T> {
    const deadline = AbortSignal.any([AbortSignal.timeout(deadlineMs), this.#stopping.signal]);
    for (;;) {
      const answer = condition();
      if (answer !== false && answer !== undefined) return answer;
      if (deadline.aborted)
        throw new Error(`waited ${deadlineMs} ms in vain: ${typeof what === 'string' ? what : what()}`);
      await this.#news(deadline);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#watching);
  }

  #news(deadline: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#waiting.delete(done);
        deadline.removeEventListener('abort', done);
        resolve();
      };
      this.#waiting.add(done);
      deadline.addEventListener('abort', done);
    });
  }

  async #begin(kind: AuditedKind): Promise<void> {
    const { group, version, plural } = RESOURCES.get(kind) as Resource;
    const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const path = `${root}/namespaces/${this.#namespace}/${plural}`;
    const list = await api(this.#access).get(path);
    for (const object of list['items']) this.#see(kind, { type: 'ADDED', object });
    this.#watching.push(this.#watch(kind, path, list.metadata.resourceVersion));
  }

  async #watch(kind: AuditedKind, path: string, from: string): Promise<void> {
    const { signal } = this.#stopping;
    let position = from;
    while (!signal.aborted) {
      try {
        for await (const { type, object } of this.#events(`${path}?watch=1&resourceVersion=${position}`)) {
          if (type === 'ERROR') throw new Error(`the auditor's watch of ${path}: ${JSON.stringify(object)}`);
          position = object.metadata.resourceVersion;
          this.#see(kind, { type, object });
        }
      } catch (error) {
        if (!signal.aborted && !(error instanceof Error && 'code' in error)) throw error;
      }
      // The server ends a watch now and then; it goes on where it was.
      if (!signal.aborted) await delay(50);
    }
  }

  async *#events(path: string): AsyncGenerator<{ type: Sighting['type'] | 'ERROR'; object: AnyObject }> {
    const { server, authority: ca, token } = this.#access;
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` };
      const sent = request(
        new URL(path, server),
        { ca, headers, agent: false, signal: this.#stopping.signal },
        resolve,
      );
      sent.on('error', reject);
      sent.end();
    });
    answer.setEncoding('utf8');
    let rest = '';
    for await (const chunk of answer) {
      const lines = `${rest}${chunk}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield JSON.parse(line);
    }
  }

  #see(kind: AuditedKind, sighting: Sighting): void {
    const { name } = sighting.object.metadata;
    const byName = this.#sightings.get(kind) ?? new Map<string, Sighting[]>();
    this.#sightings.set(kind, byName);
    byName.set(name, [...(byName.get(name) ?? []), sighting]);
    for (const done of [...this.#waiting]) done();
  }
}

/** The pod template of a workload. */
export function templateIn(kind: KindName, object: AnyObject): AnyObject {
  return kindRow(kind).templatePath.reduce<AnyObject>((node, member) => node?.[member], object);
}
