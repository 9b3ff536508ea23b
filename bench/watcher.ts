import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { type Access, Api, headersOf, now } from './api.ts';
import type { Rollout } from './delivery.ts';
import { collectionPath } from './objects.ts';

const KINDS = ['Deployment', 'StatefulSet', 'DaemonSet'] as const;

interface Seen {
  readonly kind?: string;
  readonly metadata: { readonly namespace: string; readonly name: string; readonly resourceVersion: string };
  readonly spec?: { readonly template?: unknown };
}

export function workloadKey(kind: string, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`;
}

/**
 * Sees every new pod template of the cluster, on connections of its own, and notes when it arrived. The time is taken when
 * the bytes come in, before anything is made of them.
 */
export class Watcher {
  readonly #access: Access;
  readonly #templates = new Map<string, string>();
  readonly #open: IncomingMessage[] = [];
  #rollouts = new Map<string, Rollout[]>();
  #count = 0;
  #waiting: (() => void) | undefined;
  #closed = false;
  #breaks = 0;

  private constructor(access: Access) {
    this.#access = access;
  }

  static async start(access: Access): Promise<Watcher> {
    const watcher = new Watcher(access);
    const api = new Api(access);
    for (const kind of KINDS) {
      const list = JSON.parse((await api.call('GET', collectionPath(kind))).text) as {
        readonly metadata: { readonly resourceVersion: string };
        readonly items: readonly Seen[];
      };
      for (const item of list.items) watcher.#see(kind, 'ADDED', item, 0);
      await watcher.#watch(kind, list.metadata.resourceVersion);
    }
    api.close();
    return watcher;
  }

  /** New templates since the last `reset`, by workload. */
  get rollouts(): ReadonlyMap<string, readonly Rollout[]> {
    return this.#rollouts;
  }

  get count(): number {
    return this.#count;
  }

  /** How often a watch had to be opened again; what was timed meanwhile came late. */
  get breaks(): number {
    return this.#breaks;
  }

  reset(): void {
    this.#rollouts = new Map();
    this.#count = 0;
  }

  /** The template as it is now, as JSON. */
  template(key: string): string | undefined {
    return this.#templates.get(key);
  }

  /** True once the condition holds, looked at after each new template; false at the deadline. */
  async until(condition: () => boolean, deadlineMs: number): Promise<boolean> {
    if (condition()) return true;
    return await new Promise((resolve) => {
      const finish = (held: boolean): void => {
        clearTimeout(timer);
        this.#waiting = undefined;
        resolve(held);
      };
      const timer = setTimeout(() => finish(condition()), deadlineMs);
      this.#waiting = () => {
        if (condition()) finish(true);
      };
    });
  }

  close(): void {
    this.#closed = true;
    for (const answer of this.#open) answer.destroy();
  }

  async #watch(kind: string, resourceVersion: string): Promise<void> {
    const path = `${collectionPath(kind)}?watch=1&timeoutSeconds=86400&resourceVersion=${resourceVersion}`;
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request(
        new URL(path, this.#access.server),
        { agent: false, ca: this.#access.authority, headers: headersOf(this.#access.token, undefined, '') },
        resolve,
      );
      sent.on('error', reject);
      sent.end();
    });
    this.#open.push(answer);
    let last = resourceVersion;
    const parts: Buffer[] = [];
    answer.on('data', (chunk: Buffer) => {
      const at = now();
      let start = 0;
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
        parts.push(chunk.subarray(start, end));
        const { type, object } = JSON.parse(Buffer.concat(parts).toString()) as { type: string; object: Seen };
        if (type === 'ERROR') throw new Error(`the bench's own watch of ${kind} cannot go on`);
        parts.length = 0;
        start = end + 1;
        last = object.metadata.resourceVersion;
        this.#see(kind, type, object, at);
      }
      if (start < chunk.length) parts.push(chunk.subarray(start));
    });
    answer.on('error', () => {});
    // The API server drops a watcher that is too slow for it. Nothing is lost: the next watch begins where it ended.
    answer.on('close', () => {
      if (this.#closed) return;
      this.#breaks += 1;
      void this.#watch(kind, last);
    });
  }

  #see(kind: string, type: string, object: Seen, at: number): void {
    const key = workloadKey(kind, object.metadata.namespace, object.metadata.name);
    if (type === 'DELETED') {
      this.#templates.delete(key);
      return;
    }
    const template = JSON.stringify(object.spec?.template);
    const before = this.#templates.get(key);
    this.#templates.set(key, template);
    if (before === undefined || before === template) return;
    const rollout = { version: Number(object.metadata.resourceVersion), at };
    const list = this.#rollouts.get(key);
    if (list) list.push(rollout);
    else this.#rollouts.set(key, [rollout]);
    this.#count += 1;
    this.#waiting?.();
  }
}
