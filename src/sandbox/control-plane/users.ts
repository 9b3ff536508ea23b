import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { NODE_COMPONENTS, sandboxFiles } from './control-plane.ts';

/**
 * Writes the token file of the API server and its key pair for ServiceAccount tokens. All users in the token file, the
 * developer and each component, are administrators; each has a name of its own, so that an audit log tells them apart.
 */
export function writeUsers(dir: string) {
  const files = sandboxFiles(dir);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  if (!existsSync(files.signingKey)) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    writeFileSync(files.signingKey, privateKey.export({ type: 'sec1', format: 'pem' }), { mode: 0o600 });
    writeFileSync(files.verifyingKey, publicKey.export({ type: 'spki', format: 'pem' }));
  }
  const token = () => randomBytes(24).toString('base64url');
  const tokens = { admin: token(), kwok: token(), 'kube-controller-manager': token(), 'kube-scheduler': token() };
  const rows = Object.entries(tokens).map(([name, value]) => `${value},${userName(name)},${name},"system:masters"\n`);
  writeFileSync(files.tokens, rows.join(''), { mode: 0o600 });
  return tokens;
}

/** Leaves out the requests of the components: an audit log serves to count those of other programs. */
export function writeAuditPolicy(dir: string): void {
  const users = [...NODE_COMPONENTS.map(userName), 'system:apiserver'];
  const policy = {
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    omitStages: ['RequestReceived'],
    rules: [{ level: 'None', users }, { level: 'Metadata' }],
  };
  writeFileSync(sandboxFiles(dir).auditPolicy, JSON.stringify(policy));
}

/** The administrator's token of a running sandbox, from its token file. */
export function readAdminToken(dir: string): string {
  const { tokens } = sandboxFiles(dir);
  const rows = readFileSync(tokens, 'utf8').split('\n');
  const row = rows.find((line) => line.includes(',admin,'));
  if (!row) throw new Error(`${tokens} does not name an admin`);
  return row.slice(0, row.indexOf(','));
}

const userName = (name: string): string => (name === 'admin' ? 'admin' : `system:${name}`);
