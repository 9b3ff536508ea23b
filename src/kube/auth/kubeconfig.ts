import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../runtime/clock.ts';
import type { Connection, ConnectOptions, TlsOptions } from './connection.ts';
import { type CachedCredential, type Credential, cachedCredential } from './credential.ts';
import { type Entry, isFields, pathIn, selectContext, text } from './kubeconfig-file.ts';
import { tlsFromFiles } from './tls-files.ts';
import { tokenFromFile } from './token-file.ts';

const IMPERSONATION_FIELDS = ['as', 'as-uid', 'as-groups', 'as-user-extra'];

/** The connection that a kubeconfig describes. Of several files, the first that has an entry wins. */
export async function readKubeconfig(files: readonly string[], options: ConnectOptions): Promise<Connection> {
  const { context, cluster, user, namespace } = await selectContext(files, options.context);
  const server = serverOf(cluster);
  if (user) refuseImpersonation(user);
  const proxy = proxyOf(cluster);
  const pems = tlsOf(cluster, user, options.clock);
  const credential = await credentialOf(cluster, user, options);
  const tls = joined(pems, credential.certificate);
  return {
    server,
    context,
    namespace,
    tls,
    proxy,
    authorization(refused) {
      // The server may have refused the client certificate: its files are read again.
      if (refused) pems(refused);
      return credential.authorization(refused);
    },
  };
}

/** Only https and http: `api.corp:6443` is a valid URL too, with the scheme "api.corp". */
function serverOf({ file, name, fields }: Entry): URL {
  const server = URL.parse(text(fields['server']) ?? '');
  if (server?.protocol === 'https:' || server?.protocol === 'http:') return server;
  throw new Error(`${file}: cluster "${name}" has no valid server; expected a URL like https://host:6443`);
}

/** Without support for impersonation we would act with the user's own rights, which is not what was asked for. */
function refuseImpersonation({ file, name, fields }: Entry): void {
  const field = IMPERSONATION_FIELDS.find((candidate) => isGiven(fields[candidate]));
  if (!field) return;
  throw new Error(
    `${file}: user "${name}" has "${field}": impersonation is not supported; ` +
      'name a user in the context who has the rights themselves, or a token of the ServiceAccount that is meant',
  );
}

const isGiven = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : text(value) !== undefined;

function proxyOf({ file, name, fields }: Entry): URL | undefined {
  const given = text(fields['proxy-url']);
  if (!given) return;
  const proxy = URL.parse(given);
  if (proxy && /^(https?|socks(4a?|5h?)?):$/.test(proxy.protocol)) return proxy;
  // Not quoted: it may hold a password.
  throw new Error(`${file}: cluster "${name}" has no valid proxy-url; expected a URL like http://host:3128`);
}

function tlsOf(cluster: Entry, user: Entry | undefined, clock: Clock | undefined): ReturnType<typeof tlsFromFiles> {
  const ca = pem(cluster, 'certificate-authority');
  const cert = pem(user, 'client-certificate');
  const key = pem(user, 'client-key');
  const servername = text(cluster.fields['tls-server-name']);
  const fixed = {
    ...(ca.bytes && { ca: ca.bytes }),
    ...(cert.bytes && { cert: cert.bytes }),
    ...(key.bytes && { key: key.bytes }),
    ...(servername && { servername }),
    ...(cluster.fields['insecure-skip-tls-verify'] === true && { rejectUnauthorized: false }),
  };
  return tlsFromFiles(fixed, { ca: ca.path, cert: cert.path, key: key.path }, clock);
}

/** `<field>-data` is base64 and wins over `<field>`, a path. */
function pem(entry: Entry | undefined, field: string): { readonly bytes?: Buffer; readonly path?: string | undefined } {
  const data = text(entry?.fields[`${field}-data`]);
  if (data) return { bytes: Buffer.from(data, 'base64') };
  return { path: entry && pathIn(entry, field) };
}

/** Returns the same object until one of the parts changes. */
function joined(files: () => TlsOptions, certificate: CachedCredential['certificate']): () => TlsOptions {
  let tls: TlsOptions = {};
  return () => {
    const next: TlsOptions = { ...files(), ...certificate() };
    if (!isDeepStrictEqual(next, tls)) tls = next;
    return tls;
  };
}

/** As in client-go, a credential in the kubeconfig itself wins over plugins and providers. */
async function credentialOf(
  cluster: Entry,
  user: Entry | undefined,
  options: ConnectOptions,
): Promise<CachedCredential> {
  const certificate = () => undefined;
  const own = user && ownAuthorization(user, options.clock);
  if (own) return { authorization: own, certificate };
  const obtain = user && (await providerOf(cluster, user, options));
  if (!obtain) return { authorization: () => undefined, certificate };
  const credential = cachedCredential(obtain, options.clock);
  // At the start, so that an error is shown at once, and the first connection has the certificate.
  await credential.authorization();
  return credential;
}

/** A token file wins over a token. */
function ownAuthorization(user: Entry, clock: Clock | undefined): Connection['authorization'] | undefined {
  const file = pathIn(user, 'tokenFile');
  if (file) return tokenFromFile(file, clock);
  const token = text(user.fields['token']);
  if (token) return () => `Bearer ${token}`;
  const { username, password } = user.fields;
  if (!text(username)) return;
  const pair = Buffer.from(`${username}:${text(password) ?? ''}`).toString('base64');
  return () => `Basic ${pair}`;
}

async function providerOf(
  cluster: Entry,
  user: Entry,
  options: ConnectOptions,
): Promise<(() => Promise<Credential>) | undefined> {
  if (user.fields['exec']) return (await import('./exec-plugin.ts')).execPlugin(user, cluster, options);
  const provider = user.fields['auth-provider'];
  if (!isFields(provider)) return;
  if (provider['name'] === 'oidc') {
    const config = isFields(provider['config']) ? provider['config'] : {};
    return (await import('./oidc.ts')).oidcTokens(user, config, options);
  }
  throw new Error(
    `${user.file}: user "${user.name}" has the auth provider "${provider['name']}", which kubectl no longer knows either; ` +
      'use the exec plugin of the cloud (gke-gcloud-auth-plugin, kubelogin)',
  );
}
