import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { layout, NODE_COMPONENTS } from './control-plane.ts';

/** The users that the API server knows by token: the person in front of the machine, and each component. */
export type Tokens = Readonly<Record<'admin' | 'kwok' | 'kube-controller-manager' | 'kube-scheduler', string>>;

/**
 * Writes what the API server needs to know its users and to sign tokens for ServiceAccounts. All users named here are
 * administrators; each has a name of its own, so that an audit log tells them apart.
 */
export function writeCredentials(dir: string): Tokens {
  const files = layout(dir);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  if (!existsSync(files.signingKey)) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    writeFileSync(files.signingKey, privateKey.export({ type: 'sec1', format: 'pem' }), { mode: 0o600 });
    writeFileSync(files.verifyingKey, publicKey.export({ type: 'spki', format: 'pem' }));
  }
  const token = () => randomBytes(24).toString('base64url');
  const tokens: Tokens = {
    admin: token(),
    kwok: token(),
    'kube-controller-manager': token(),
    'kube-scheduler': token(),
  };
  const rows = Object.entries(tokens).map(([name, value]) => `${value},${userOf(name)},${name},"system:masters"\n`);
  writeFileSync(files.tokens, rows.join(''), { mode: 0o600 });
  return tokens;
}

/** Requests of the components themselves are left out: an audit log is there to count somebody else's. */
export function writeAuditPolicy(dir: string): void {
  const users = [...NODE_COMPONENTS.map(userOf), 'system:apiserver'];
  const policy = {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules: [{ level: 'None', users }, { level: 'Metadata' }],
  };
  writeFileSync(layout(dir).auditPolicy, JSON.stringify(policy));
}

export interface KubeconfigUser {
  readonly server: string;
  readonly authority: string;
  readonly token: string;
  readonly namespace?: string;
}

/** A kubeconfig with one context. JSON is YAML, and what it contains needs no file beside it. */
export function writeKubeconfig(file: string, name: string, user: KubeconfigUser): void {
  const { server, authority, token, namespace } = user;
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, 'certificate-authority-data': Buffer.from(authority).toString('base64') } }],
    users: [{ name, user: { token } }],
    contexts: [{ name, context: { cluster: name, user: name, ...(namespace ? { namespace } : {}) } }],
    'current-context': name,
  };
  writeFileSync(file, `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600 });
}

/** The token of the person in front of the machine, as a running sandbox has it on disk. */
export function readAdminToken(dir: string): string {
  const row = readFileSync(layout(dir).tokens, 'utf8')
    .split('\n')
    .find((line) => line.includes(',admin,'));
  if (!row) throw new Error(`${layout(dir).tokens} does not name an admin`);
  return row.slice(0, row.indexOf(','));
}

function userOf(name: string): string {
  return name === 'admin' ? 'admin' : `system:${name}`;
}
