import { afterEach } from 'vitest';
import { KubeClient } from '../../src/kube/client.ts';
import { elect, type HeldLease } from '../../src/kube/lease/election.ts';
import { type Exchange, scriptedApi } from './scripted-api.ts';
import { type VirtualClock, virtualClock } from './virtual-clock.ts';

export interface Lease {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly resourceVersion: string };
  readonly spec: {
    readonly holderIdentity: string;
    readonly leaseDurationSeconds: number;
    readonly leaseTransitions?: number;
    readonly renewTime?: string;
  };
}

/** One Lease on a server that can be told to be dumb, slow or strict. */
export class LeaseServer {
  lease: Lease | undefined;
  readonly writes: string[] = [];
  /** Does not answer writes any more. */
  hangs = false;
  /** Does what a write asks, and does not answer. */
  stalls = false;
  /** Answers everything with 500. */
  fails = false;
  mayWatch = true;
  #version = 0;
  readonly #watches: Exchange[] = [];

  answer(exchange: Exchange): void {
    if (this.fails) exchange.status(500, 'InternalError');
    else if (exchange.verb === 'watch') this.#watch(exchange);
    else if (exchange.verb === 'get') this.#get(exchange);
    else if (!this.hangs) this.#write(exchange);
  }

  /** Somebody else writes. */
  set(spec: Partial<Lease['spec']>): void {
    this.#version += 1;
    const metadata = { name: 'attune', namespace: 'system', resourceVersion: String(this.#version) };
    const before = this.lease?.spec ?? { holderIdentity: '', leaseDurationSeconds: 15 };
    this.lease = { metadata, spec: { ...before, ...spec } };
    this.#tell('MODIFIED');
  }

  delete(): void {
    this.#version += 1;
    this.#tell('DELETED');
    this.lease = undefined;
  }

  #get(exchange: Exchange): void {
    if (this.lease) exchange.json(200, this.lease);
    else exchange.status(404, 'NotFound');
  }

  #watch(exchange: Exchange): void {
    if (!this.mayWatch) exchange.status(403, 'Forbidden');
    else {
      this.#watches.push(exchange);
      void exchange.write('\n').catch(() => {});
    }
  }

  #write(exchange: Exchange): void {
    const sent = JSON.parse(exchange.body) as Lease;
    if (exchange.verb === 'create' && this.lease) exchange.status(409, 'AlreadyExists');
    else if (exchange.verb === 'update' && sent.metadata.resourceVersion !== this.lease?.metadata.resourceVersion) {
      exchange.status(409, 'Conflict');
    } else {
      this.writes.push(`${exchange.verb} ${sent.spec.holderIdentity}`);
      this.set(sent.spec);
      if (!this.stalls) exchange.json(200, this.lease);
    }
  }

  #tell(type: string): void {
    for (const watch of this.#watches) {
      void watch
        .event(type, { ...this.lease, metadata: { ...this.lease?.metadata, resourceVersion: String(this.#version) } })
        .catch(() => {});
    }
  }
}

export const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
});

export async function start() {
  const server = new LeaseServer();
  const api = await scriptedApi((exchange) => server.answer(exchange));
  cleanUp.push(() => api[Symbol.asyncDispose]());
  return { server, api, clients: [] as KubeClient[] };
}
export type World = Awaited<ReturnType<typeof start>>;

export interface Candidate {
  readonly clock: VirtualClock;
  readonly told: string[];
  /** The duration that came with each holder. */
  readonly leaseMs: number[];
  readonly stop: AbortController;
  readonly running: Promise<void>;
  leadership(): HeldLease | undefined;
  /** Lets time pass in small steps, with time for the network after each. */
  live(ms: number): Promise<void>;
}

export function candidate(world: World, identity: string, clock = virtualClock(1e12)): Candidate {
  const client = new KubeClient(world.api.connection);
  world.clients.push(client);
  const stop = new AbortController();
  const told: string[] = [];
  const leaseMs: number[] = [];
  let leadership: HeldLease | undefined;
  const running = elect(
    {
      client,
      namespace: 'system',
      name: 'attune',
      identity,
      clock,
      onLeading: (given) => {
        leadership = given;
        told.push('leading');
      },
      onLost: () => told.push('lost'),
      onHolder: (holder, ms) => {
        told.push(`holder ${holder}`);
        leaseMs.push(ms);
      },
    },
    stop.signal,
  );
  cleanUp.push(
    () => client.close(),
    () => running,
    () => stop.abort(),
  );
  const live = async (ms: number) => {
    for (let left = ms; left > 0; left -= 500) {
      await networkQuiet(world);
      clock.advance(Math.min(500, left));
    }
    await networkQuiet(world);
  };
  return { clock, told, leaseMs, stop, running, leadership: () => leadership, live };
}

/** Until no answer is awaited any more, except from a server that gives none. */
export async function networkQuiet({ server, clients }: World): Promise<void> {
  const isQuiet = () => server.hangs || clients.every((client) => client.inFlight === 0);
  for (let turns = 0; turns < 5; turns = isQuiet() ? turns + 1 : 0) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
