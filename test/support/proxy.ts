import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Agent, createServer, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll } from 'vitest';
import type { ApiAccess } from '../../src/sandbox/control-plane/api-request.ts';
import { type ControlPlane, controlPlane } from './sandbox.ts';

type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete';

/** What goes wrong with a request. */
type Fault =
  /** The API server is not asked; the answer is a Status with this code. */
  | { readonly type: 'status'; readonly code: number; readonly retryAfterSeconds?: number }
  /** The true answer, but the connection breaks after so many bytes of it (by chance within 4 KiB when not given). */
  | { readonly type: 'cut'; readonly afterBytes?: number }
  /** The true answer, later. */
  | { readonly type: 'delay'; readonly ms: number }
  /** The true answer of now, handed over when `until` says so. */
  | { readonly type: 'hold'; readonly answered: () => void; readonly until: Promise<void> }
  /** Half of a JSON document, and then the end as if all were well. */
  | { readonly type: 'bad-json' }
  /** A watch that begins and at once says that its resourceVersion is too old. */
  | { readonly type: 'expired-watch' }
  /** The request is taken and never answered: a half-open connection. */
  | { readonly type: 'silence' };

export interface FaultRule {
  readonly fault: Fault;
  readonly verbs?: readonly Verb[];
  /** Compared with the path and the query. */
  readonly path?: RegExp;
  /** The share of matching requests that it strikes: 1 when not given. */
  readonly rate?: number;
  /** After so many strikes the rule is spent. */
  readonly times?: number;
}

export interface FaultProxy {
  /** The access of `through`, by way of the proxy. */
  readonly access: ApiAccess;
  /** Replaces all rules. The first rule that strikes wins. */
  setRules(rules: readonly FaultRule[]): void;
  /** Breaks every watch that is open now; says how many there were. */
  cutWatches(): number;
  /** Requests so far, by "verb resource", for example "patch deployments" or "create serviceaccounts/token". */
  readonly counts: ReadonlyMap<string, number>;
  /** How many requests were struck. */
  readonly faults: number;
  resetCounts(): void;
}

/**
 * An HTTPS server between a client and the API server that counts and spoils requests. It shows the API server's own
 * certificate, so a client needs nothing but another port. Ends with the test file.
 */
export async function faultProxy(
  options: { readonly plane?: ControlPlane; readonly through?: ApiAccess; readonly seed?: number } = {},
): Promise<FaultProxy> {
  const plane = options.plane ?? controlPlane();
  const through = options.through ?? plane;
  const random = seededRandom(options.seed ?? 1);
  const upstream = new Agent({ keepAlive: true, ca: plane.authority });
  const state = { rules: [] as Armed[], counts: new Map<string, number>(), faults: 0 };
  const watches = new Set<ServerResponse>();

  const server = createServer(certificate(plane.dir), (incoming, outgoing) => {
    const { verb, resource } = describe(incoming);
    const key = `${verb} ${resource}`;
    state.counts.set(key, (state.counts.get(key) ?? 0) + 1);
    const fault = strike(state.rules, verb, incoming.url ?? '', random);
    if (fault) state.faults++;
    if (verb === 'watch') {
      watches.add(outgoing);
      outgoing.once('close', () => watches.delete(outgoing));
    }
    const forward = (treat: Treatment) => pass({ incoming, outgoing, server: plane.server, agent: upstream }, treat);
    void spoil(fault, outgoing, forward, random);
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  afterAll(async () => {
    server.closeAllConnections();
    upstream.destroy();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });

  return {
    access: { ...through, server: `https://127.0.0.1:${(server.address() as AddressInfo).port}` },
    setRules(rules) {
      state.rules = rules.map((rule) => ({ ...rule, left: rule.times ?? Number.POSITIVE_INFINITY }));
    },
    cutWatches() {
      const open = [...watches];
      for (const watch of open) watch.destroy();
      return open.length;
    },
    counts: state.counts,
    get faults() {
      return state.faults;
    },
    resetCounts: () => state.counts.clear(),
  };
}

interface Armed extends FaultRule {
  left: number;
}

function strike(rules: readonly Armed[], verb: Verb, url: string, random: () => number): Fault | undefined {
  for (const rule of rules) {
    const meant = (rule.verbs?.includes(verb) ?? true) && (rule.path?.test(url) ?? true);
    if (!meant || rule.left === 0 || random() >= (rule.rate ?? 1)) continue;
    rule.left--;
    return rule.fault;
  }
  return undefined;
}

/** What to do with the true answer: let it end after so many bytes, abruptly or as if it were complete; or keep it back. */
type Treatment = {
  readonly endAfterBytes?: number;
  readonly abrupt?: boolean;
  readonly hold?: { readonly answered: () => void; readonly until: Promise<void> };
};

async function spoil(
  fault: Fault | undefined,
  outgoing: ServerResponse,
  forward: (treat: Treatment) => void,
  random: () => number,
): Promise<void> {
  switch (fault?.type) {
    case undefined:
      return forward({});
    case 'status':
      return answerStatus(outgoing, fault.code, fault.retryAfterSeconds);
    case 'cut':
      return forward({ endAfterBytes: fault.afterBytes ?? Math.floor(random() * 4096), abrupt: true });
    case 'delay':
      await delay(fault.ms);
      return forward({});
    case 'hold':
      return forward({ hold: fault });
    case 'bad-json':
      outgoing.writeHead(200, { 'content-type': 'application/json' });
      outgoing.end('{"type":"ADDED","object":{"kind":"Conf\n');
      return;
    case 'expired-watch':
      outgoing.writeHead(200, { 'content-type': 'application/json' });
      outgoing.end(`${JSON.stringify({ type: 'ERROR', object: statusOf(410) })}\n`);
      return;
    case 'silence':
      return;
  }
}

interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly server: string;
  readonly agent: Agent;
}

function pass({ incoming, outgoing, server, agent }: Exchange, treat: Treatment): void {
  const { host: _host, ...headers } = incoming.headers;
  const sent = request(
    new URL(incoming.url ?? '/', server),
    { method: incoming.method, headers, agent },
    async (answer) => {
      treat.hold?.answered();
      await treat.hold?.until;
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      outgoing.flushHeaders();
      let left = treat.endAfterBytes ?? Number.POSITIVE_INFINITY;
      answer.on('data', (chunk: Buffer) => {
        const piece = chunk.subarray(0, left);
        left -= piece.length;
        if (!outgoing.write(piece)) {
          answer.pause();
          outgoing.once('drain', () => answer.resume());
        }
        if (left === 0) outgoing.destroy();
      });
      // A cut that is longer than the answer still is a cut.
      answer.on('end', () => (treat.abrupt ? outgoing.destroy() : outgoing.end()));
      answer.on('error', () => outgoing.destroy());
    },
  );
  sent.on('error', () => outgoing.destroy());
  outgoing.on('close', () => sent.destroy());
  incoming.pipe(sent);
}

const REASONS: Readonly<Record<number, string>> = {
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
};

function statusOf(code: number) {
  const reason = REASONS[code] ?? 'Unknown';
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: 'on purpose', reason, code };
}

function answerStatus(outgoing: ServerResponse, code: number, retryAfterSeconds: number | undefined): void {
  outgoing.writeHead(code, {
    'content-type': 'application/json',
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  });
  outgoing.end(JSON.stringify(statusOf(code)));
}

/** The verb and resource of a request, as RBAC knows them. */
function describe(incoming: IncomingMessage): { readonly verb: Verb; readonly resource: string } {
  const url = new URL(incoming.url ?? '/', 'https://api');
  const { resource, named } = resourceOf(url.pathname);
  const isWatch = ['true', '1'].includes(url.searchParams.get('watch') ?? '');
  const reads: Verb = isWatch ? 'watch' : named ? 'get' : 'list';
  const verbs: Readonly<Record<string, Verb>> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };
  return { verb: verbs[incoming.method ?? 'GET'] ?? reads, resource };
}

function resourceOf(pathname: string): { readonly resource: string; readonly named: boolean } {
  const parts = pathname.split('/').filter(Boolean);
  const rest = parts[0] === 'api' ? parts.slice(2) : parts[0] === 'apis' ? parts.slice(3) : [];
  if (rest.length === 0) return { resource: pathname, named: true };
  // /namespaces/x/pods is about pods, /namespaces/x about the namespace.
  const [plural = '', name, subresource] = rest[0] === 'namespaces' && rest.length > 2 ? rest.slice(2) : rest;
  return { resource: subresource ? `${plural}/${subresource}` : plural, named: name !== undefined };
}

function certificate(dir: string) {
  const file = (ending: string) => readFileSync(join(dir, 'certificates', `apiserver.${ending}`));
  return { key: file('key'), cert: file('crt') };
}

/** Numbers that look random and are the same for the same seed (mulberry32). */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
