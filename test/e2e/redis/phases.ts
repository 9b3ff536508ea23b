import { tryLogin } from '../../../src/agent/redis/connection/try-login.ts';
import { passwordId } from '../../../src/agent/redis/steps/secrets/passwords/known-passwords.ts';
import { proveBy } from '../../../src/agent/redis/steps/tls/handshake.ts';
import type { RotationPhase, TlsStatus, TrustPhase } from '../../../src/domain/redis/cluster-view.ts';
import { parseInfo, replicationOf } from '../../../src/domain/redis/info.ts';
import type { TestPair } from '../../support/redis-certificates.ts';
import { tlsFiles } from '../../support/redis-certificates.ts';
import { until } from '../../support/wait.ts';
import type { RedisNode } from './redis-node.ts';
import type { Secrets, TestCluster } from './redis-world.ts';

/** Key of the ids by which pods tell each other of passwords. */
export const ROTATION_KEY = 'a key for ids';

/** The Secrets for a password, by the names that {@link PASSWORD_SPEC} has. */
export const passwordSecrets = (password: string): Secrets => ({ auth: { password }, key: { key: ROTATION_KEY } });

export const PASSWORD_SPEC = { authSecret: { name: 'auth' }, rotationKeySecret: { name: 'key' } } as const;
export const TLS_SPEC = { tlsSecret: { name: 'tls' }, caSecret: { name: 'ca' } } as const;

const PASSWORDS: readonly (RotationPhase | undefined)[] = [undefined, 'Accepted', 'Used', 'Settled'];
const TRUST: readonly (TrustPhase | undefined)[] = [undefined, 'Trusted', 'Served', 'Settled'];

/** Until these pods are so far with this password, or further. */
export async function untilPassword(
  cluster: TestCluster,
  password: string,
  phase: RotationPhase,
  nodes: readonly RedisNode[] = cluster.nodes,
): Promise<void> {
  const id = passwordId(Buffer.from(ROTATION_KEY), password);
  const isSo = (seen: RotationPhase | undefined): boolean => PASSWORDS.indexOf(seen) >= PASSWORDS.indexOf(phase);
  await Promise.all(
    nodes.map(({ name }) =>
      cluster.until(
        name,
        ({ credentials }) => credentials?.id === id && isSo(credentials.phase),
        `${phase} with the password`,
      ),
    ),
  );
}

/** Until these pods trust this authority, and are so far with it, or further. */
export async function untilTrust(
  cluster: TestCluster,
  authority: TestPair,
  phase: TrustPhase,
  nodes: readonly RedisNode[] = cluster.nodes,
): Promise<void> {
  const isSo = ({ trusted = [], phase: seen }: TlsStatus): boolean =>
    trusted.includes(authority.fingerprint) && TRUST.indexOf(seen) >= TRUST.indexOf(phase);
  await Promise.all(
    nodes.map(({ name }) =>
      cluster.until(name, ({ tls }) => tls !== undefined && isSo(tls), `${phase} with the authority`),
    ),
  );
}

/** Whether a pod lets somebody in as default, over TLS where it trusts anybody. */
export const opens = async (node: RedisNode, password: string): Promise<boolean> =>
  (await tryLogin({ path: node.socket }, { user: 'default', password })) === 'accepted';

/** The leaf that a pod serves to whoever trusts only this authority. */
export const leafOf = async (node: RedisNode, authority: TestPair): Promise<string> =>
  (await proveBy({ host: node.address, port: 6379 }, { ca: authority.cert })).leaf;

/** The leaf that a pod serves to a replica which shows this certificate. */
export const leafForReplica = async (
  node: RedisNode,
  leaf: TestPair,
  ...trusted: readonly TestPair[]
): Promise<string> => {
  const files = tlsFiles(leaf, ...trusted);
  const client = { cert: files['tls.crt'], key: files['tls.key'] };
  return (await proveBy({ host: node.address, port: 6379 }, { ca: files['ca.crt'], client })).leaf;
};

/** Until every replica is linked, as Redis itself says: what status says may be from before a kill. */
export async function untilLinked({ nodes }: TestCluster): Promise<void> {
  await Promise.all(
    nodes.map((node) =>
      until(
        async () => {
          const { role, connectedReplicas, master } = replicationOf(
            parseInfo(String(await node.send('INFO', 'replication'))),
          );
          return role === 'master' ? connectedReplicas === nodes.length - 1 : master?.linkUp;
        },
        { what: `${node.name} linked` },
      ),
    ),
  );
}
