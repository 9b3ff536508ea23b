import { X509Certificate } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { type Exchange, scriptedApi } from '../../../test/support/scripted-api.ts';
import { type VirtualClock, virtualClock } from '../../../test/support/virtual-clock.ts';
import type { DataObject } from '../../api/objects.ts';
import { KubeClient } from '../../kube/client.ts';
import type { Clock } from '../../runtime/clock.ts';
import { ownCertificate } from './own-certificate.ts';
import { pemBlocks } from './pem.ts';
import type { ServingCertificate } from './serving-certificate.ts';
import { storedBundle } from './stored-certificates.ts';

const BEGIN = Date.UTC(2030, 0, 1);
const LIFE = 60_000;
const HOSTS = ['attune-admission.attune.svc', '127.0.0.1'];
const REF = { namespace: 'attune', name: 'attune-admission-cert' };

/** One Secret, on a server whose clock is the test's. */
class SecretServer {
  readonly clock: VirtualClock = virtualClock(BEGIN);
  secret: DataObject | undefined;
  readonly writes: string[] = [];
  /** What may not be done. */
  forbidden: readonly string[] = [];
  #version = 0;

  answer({ verb, body, json }: Exchange): void {
    const sent = body === '' ? undefined : (JSON.parse(body) as DataObject);
    const [code, reason] = this.#refusal(verb, sent);
    if (sent && code === 200) {
      this.writes.push(verb);
      this.put(sent.data ?? {});
    }
    const answer = code === 200 ? this.secret : { kind: 'Status', code, reason };
    json(code, answer, { date: new Date(this.clock.wall()).toUTCString() });
  }

  #refusal(verb: string, sent: DataObject | undefined): readonly [number, string] {
    const current = this.secret?.metadata.resourceVersion;
    if (this.forbidden.includes(verb)) return [403, 'Forbidden'];
    if (verb === 'create') return current === undefined ? [200, ''] : [409, 'AlreadyExists'];
    if (current === undefined) return [404, 'NotFound'];
    return verb === 'update' && sent?.metadata.resourceVersion !== current ? [409, 'Conflict'] : [200, ''];
  }

  put(data: Readonly<Record<string, string>>): void {
    this.#version += 1;
    this.secret = { metadata: { ...REF, uid: 'u', resourceVersion: `${this.#version}` }, data };
  }

  text(name: string): string {
    return Buffer.from(this.secret?.data?.[name] ?? '', 'base64').toString();
  }
}

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
});

async function start() {
  const server = new SecretServer();
  const api = await scriptedApi((exchange) => server.answer(exchange));
  cleanUp.push(() => api[Symbol.asyncDispose]());
  /** How many replicas wait for a time, and for nothing else. */
  let resting = 0;
  let replicas = 0;
  const replica = (hosts = HOSTS, lifeMs = LIFE) => {
    const client = new KubeClient(api.connection, { clock: server.clock });
    replicas += 1;
    const clock: Clock = {
      ...server.clock,
      after(ms, fn) {
        resting += 1;
        const cancel = server.clock.after(ms, fn);
        return () => {
          resting -= 1;
          cancel();
        };
      },
    };
    const told: ServingCertificate[] = [];
    const lines: string[] = [];
    const counted: string[] = [];
    const say = (level: string) => (line: string) => void lines.push(`${level}: ${line}`);
    const log = { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') };
    const stop = new AbortController();
    const metrics = { set: () => {}, increment: (_: string, { what }: { what: string }) => void counted.push(what) };
    const onChange = (certificate: ServingCertificate) => void told.push(certificate);
    const deps = { client, ...REF, hosts, lifeMs, clock, log, metrics, onChange };
    const running = ownCertificate(deps, stop.signal);
    cleanUp.push(
      () => client.close(),
      () => running,
      () => stop.abort(),
    );
    return { told, lines, counted, client };
  };
  /** Until nobody waits for an answer or makes a certificate any more: then everybody has set a timer. */
  const quiet = async () => {
    for (let turns = 0; turns < 5; turns = resting === replicas ? turns + 1 : 0) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  const live = async (ms: number) => {
    for (let left = ms; left > 0; left -= 2000) {
      await quiet();
      server.clock.advance(Math.min(2000, left));
    }
    await quiet();
  };
  return { server, replica, live, quiet };
}

const isSigned = ({ cert, bundle }: ServingCertificate): boolean =>
  pemBlocks(bundle).some((each) => new X509Certificate(cert).verify(new X509Certificate(each).publicKey));

describe('a Secret that is not there', () => {
  it('is made by one of two replicas, and both serve it', async () => {
    const { server, replica, quiet } = await start();
    const [a, b] = [replica(), replica()];
    await quiet();
    expect(server.writes).toEqual(['create']);
    expect(a.told).toEqual(b.told);
    expect(a.told).toHaveLength(1);
    const [served] = a.told as [ServingCertificate];
    expect(served).toMatchObject({ cert: server.text('tls.crt'), bundle: server.text('ca.crt') });
    expect(isSigned(served)).toBe(true);
    expect(served.notAfterMs).toBeGreaterThanOrEqual(BEGIN + LIFE);
    expect([...a.counted, ...b.counted].toSorted()).toEqual(['ca', 'leaf']);
    expect(await storedBundle(a.client, REF)).toBe(served.bundle);
  });

  it('may not be made: said once, with the cure, and tried until it may', async () => {
    const { server, replica, live } = await start();
    server.forbidden = ['create'];
    const a = replica();
    await live(60_000);
    expect(a.lines).toEqual([
      "warn: admission's certificate cannot be kept in Secret attune/attune-admission-cert, as this may not be done: " +
        'create secrets. Allow get, create and update there, or give certificates with --admission-cert-dir',
    ]);
    server.forbidden = [];
    await live(15_000);
    expect(a.told).toHaveLength(1);
  });
});

describe('over the time', () => {
  it('renews leaves and authorities; whoever follows serves what is trusted', async () => {
    const { server, replica, live } = await start();
    const [a, b] = [replica(), replica()];
    const bundles: number[] = [];
    for (let at = 0; at < 300_000; at += 2000) {
      await live(2000);
      const served = [a, b].map(({ told }) => told.at(-1)) as ServingCertificate[];
      for (const each of served) {
        expect(each.notAfterMs).toBeGreaterThan(server.clock.wall());
        expect(isSigned({ ...each, bundle: server.text('ca.crt') })).toBe(true);
      }
      const size = pemBlocks(server.text('ca.crt')).length;
      if (size !== bundles.at(-1)) bundles.push(size);
    }
    // The second authority came and the first went; then the third.
    expect(bundles.slice(0, 3)).toEqual([1, 2, 1]);
    expect(a.told.at(-1)).toEqual(b.told.at(-1));
    const counted = [...a.counted, ...b.counted];
    expect(counted.filter((what) => what === 'ca').length).toBeGreaterThanOrEqual(2);
    // Every write was counted by who made it, and nobody overwrote another.
    expect(counted).toHaveLength(server.writes.length + 1);
    expect([...a.lines, ...b.lines].filter((line) => !line.startsWith('info'))).toEqual([]);
  });

  it('serves on when the Secret can be read but not written', async () => {
    const { server, replica, live } = await start();
    const a = replica();
    await live(1000);
    server.forbidden = ['update'];
    await live(45_000);
    expect(a.told).toHaveLength(1);
    expect(a.lines.at(-1)).toContain('as this may not be done: update secrets');
  });
});

describe('what cannot be used is made anew, and said', () => {
  it.each<[string, (server: SecretServer) => Record<string, string>, string]>([
    ['an empty Secret', () => ({}), 'it is empty'],
    [
      'a key of another certificate',
      (server) => ({ ...server.secret?.data, 'tls.key': key(server, 'ca.key') }),
      'tls.crt',
    ],
    ['no authority', (server) => ({ ...server.secret?.data, 'ca.crt': '' }), 'ca.crt and ca.key are no pairs'],
    ['junk', (server) => ({ ...server.secret?.data, 'ca.crt': 'anVuaw==' }), 'ca.crt and ca.key are no pairs'],
    ['no base64', (server) => ({ ...server.secret?.data, 'tls.crt': '%%%' }), 'tls.crt and tls.key are no pair'],
  ])('%s', async (_, damage, why) => {
    const { server, replica, live } = await start();
    const a = replica();
    await live(1000);
    server.put(damage(server));
    await live(12_000);
    expect(a.told).toHaveLength(2);
    expect(isSigned(a.told[1] as ServingCertificate)).toBe(true);
    expect(a.lines.at(-1)).toContain(`warn: admission's certificates could not be used (${why}`);
    expect(a.lines.join()).not.toContain('PRIVATE');
  });

  it('an authority that has expired meanwhile', async () => {
    const { server, replica, live } = await start();
    replica();
    await live(1000);
    const { data } = server.secret as DataObject;
    server.clock.jump(86_400_000);
    server.put(data ?? {});
    const b = replica();
    await live(1000);
    expect(b.told.at(-1)?.notAfterMs).toBeGreaterThan(server.clock.wall());
  });

  it('a certificate for other hosts: only the leaf, and for both', async () => {
    const { server, replica, live } = await start();
    const a = replica();
    await live(1000);
    const b = replica(['elsewhere.example']);
    await live(30_000);
    const leaf = new X509Certificate(server.text('tls.crt'));
    expect([...HOSTS.slice(0, 1), 'elsewhere.example'].map((host) => leaf.checkHost(host))).not.toContain(undefined);
    expect(leaf.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(server.writes).toEqual(['create', 'update']);
    expect(a.told.map(({ bundle }) => bundle)).toEqual(b.told.map(({ bundle }) => bundle));
    expect(b.lines.at(-1)).toContain('as the old one was for other hosts');
  });
});

const key = (server: SecretServer, name: string): string => server.secret?.data?.[name] ?? '';
