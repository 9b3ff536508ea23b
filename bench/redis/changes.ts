import { X509Certificate } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'node:tls';
import { type SamplePair, sampleAuthority, sampleLeaf } from '../../src/cli/redis/sample-certificates.ts';
import { now } from '../api.ts';
import type { BenchCluster } from '../bench-cluster.ts';
import { clusterPath } from './cluster-objects.ts';
import { BENCH_USER, type Mounts, type RedisPod } from './redis-pod.ts';
import type { Entry } from './watch-object.ts';

/** A change that is about to be made. */
interface Change {
  /** Makes it, and says when. */
  readonly make: () => Promise<number> | number;
  /** Whether it counts. */
  readonly counts: () => Promise<boolean>;
  /** Whether the pod says so. */
  readonly isTold: (entry: Entry) => boolean;
}

export interface Kind {
  readonly name: string;
  /** The next change of a pod. */
  readonly next: (bench: BenchCluster, pod: RedisPod) => Promise<Change>;
}

export interface Latency {
  readonly countsMs: number;
  /** NaN where nobody tells. */
  readonly toldMs: number;
}

// Finer would measure the bench: a look costs Redis time too.
const LOOK_MS = 1;
const DEADLINE_MS = 30_000;

/** Makes a change, and looks every millisecond whether it counts. */
export async function timeChange(bench: BenchCluster, pod: RedisPod, kind: Kind): Promise<Latency> {
  const { make, counts, isTold } = await kind.next(bench, pod);
  const deadline = now() + DEADLINE_MS;
  const wait = async (holds: () => Promise<boolean> | boolean): Promise<number> => {
    while (!(await holds())) {
      pod.program.check();
      if (now() > deadline) throw new Error(`${pod.contender}: a new ${kind.name} does not count`);
      await delay(LOOK_MS);
    }
    return now();
  };
  const making = make();
  const countsAt = await wait(counts);
  const at = await making;
  if (!pod.tells) return { countsMs: countsAt - at, toldMs: Number.NaN };
  await wait(() => isTold(pod.told().entry));
  return { countsMs: countsAt - at, toldMs: pod.told().at - at };
}

const MIB = 2 ** 20;

/** `spec.redis.maxmemory` is patched; CONFIG GET shows it. */
function parameters(): Kind {
  let megabytes = 100;
  return {
    name: 'parameter',
    async next(bench, pod) {
      megabytes += 1;
      const value = String(megabytes * MIB);
      const body = { spec: { redis: { maxmemory: value } } };
      return {
        make: async () =>
          (await bench.api.call('PATCH', clusterPath(pod.cluster), body, 'application/merge-patch+json')).at,
        counts: async () => {
          const [, seen] = (await pod.redis.send('CONFIG', 'GET', 'maxmemory')) as readonly string[];
          return seen === value;
        },
        isTold: ({ config }) => config?.['maxmemory']?.value === value,
      };
    },
  };
}

/** The file of the password is swapped; a login with the new one works. */
function passwords(): Kind {
  let made = 0;
  return {
    name: 'password',
    async next(_, pod) {
      made += 1;
      const password = `word-${made}-${now()}`;
      const before = pod.told().entry.credentials?.id;
      return {
        make: pod.secrets.stage(secretsWith(password)),
        counts: () => opens(pod, password),
        isTold: ({ credentials }) => credentials?.id !== before && credentials?.phase === 'Settled',
      };
    },
  };
}

async function opens({ door }: RedisPod, password: string): Promise<boolean> {
  return await door.send('AUTH', 'default', password).then(
    () => true,
    () => false,
  );
}

/** The files of the certificate are swapped; a handshake shows the new leaf. */
function certificates(authority: SamplePair): Kind {
  return {
    name: 'certificate',
    async next(_, pod) {
      const leaf = await sampleLeaf(authority, ['redis'], Date.now());
      const wanted = fingerprintIn(leaf.cert);
      return {
        make: pod.tls.stage(tlsWith(leaf, authority)),
        counts: async () => (await leafShownBy(pod.address, authority)) === wanted,
        isTold: ({ tls }) => tls?.leaf === wanted,
      };
    },
  };
}

function leafShownBy(host: string, { cert }: SamplePair): Promise<string> {
  return new Promise((resolve, reject) => {
    // Certificates are made for a name, and pods are reached by their addresses.
    const socket = connect({ host, port: 6379, ca: cert, checkServerIdentity: () => undefined });
    socket.once('secureConnect', () => {
      resolve(plain(socket.getPeerCertificate().fingerprint256));
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

const fingerprintIn = (pem: string): string => plain(new X509Certificate(pem).fingerprint256);

/** As the status has it. */
const plain = (fingerprint: string): string => fingerprint.replaceAll(':', '').toLowerCase();

const secretsWith = (password: string): Mounts['secrets'] => ({
  'auth/password': password,
  'users/acl': `user ${BENCH_USER.name} on >${BENCH_USER.password} ~* &* +@all\n`,
  'key/key': 'a key for ids',
});

const tlsWith = (leaf: SamplePair, authority: SamplePair): Mounts['tls'] => ({
  'tls.crt': leaf.cert,
  'tls.key': leaf.key,
  'ca.crt': authority.cert,
});

/** The kinds of changes, and what a pod begins with before any of them. */
export async function changesAndMounts(): Promise<{ readonly kinds: readonly Kind[]; readonly mounts: Mounts }> {
  const authority = await sampleAuthority(Date.now());
  const leaf = await sampleLeaf(authority, ['redis'], Date.now());
  return {
    kinds: [parameters(), passwords(), certificates(authority)],
    mounts: { secrets: secretsWith('first'), tls: tlsWith(leaf, authority) },
  };
}
