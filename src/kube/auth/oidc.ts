import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { systemClock } from '../../runtime/clock.ts';
import { http, https } from '../../runtime/node-http.ts';
import { parseJson } from '../parse-json.ts';
import { environmentProxy } from '../proxy/environment-proxy.ts';
import { ConnectError } from '../wire/connect-error.ts';
import { dialer } from '../wire/dial.ts';
import type { ConnectOptions } from './connection.ts';
import type { Credential } from './credential.ts';
import { type Entry, type Fields, isFields, pathIn, text } from './kubeconfig-file.ts';

/** A token is renewed so long before it expires, so that none expires on the way to the server. */
const LEEWAY_MS = 30_000;
const TIME_LIMIT_MS = 30_000;
const MAX_ANSWER_BYTES = 1024 * 1024;

/** Our registration with the issuer. */
interface OidcClient {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | undefined;
  readonly ca: Buffer | undefined;
  /** It may name a proxy, through which the issuer is reached; that of the cluster is for the API server alone. */
  readonly env: ConnectOptions['env'];
}

/**
 * The auth provider "oidc": the ID token of the kubeconfig, and when that has expired or was refused, one from the issuer
 * for the refresh token. Nothing of the issuer's answers gets into an error.
 */
export function oidcTokens(
  user: Entry,
  config: Fields,
  { env, clock = systemClock }: ConnectOptions,
): () => Promise<Credential> {
  const who = `${user.file}: user "${user.name}"`;
  const client = clientIn({ ...user, fields: config }, env);
  let refreshToken = text(config['refresh-token']);
  let untried = text(config['id-token']);
  return async () => {
    const token = untried;
    untried = undefined;
    const expiresAt = token ? expiryOf(token) - LEEWAY_MS : 0;
    if (clock.wall() < expiresAt) return { header: `Bearer ${token}`, expiresAt };
    if (!client || !refreshToken) {
      throw new ConnectError(
        `${who}: the OIDC token has ended, and there is no refresh token with its issuer; log in again`,
      );
    }
    const answer = await refreshed(client, refreshToken).catch((error: Error) => error);
    if (answer instanceof Error)
      throw new ConnectError(`${who}: the OIDC token cannot be refreshed: ${answer.message}`);
    refreshToken = text(answer['refresh_token']) ?? refreshToken;
    const idToken = text(answer['id_token']);
    if (!idToken)
      throw new ConnectError(`${who}: the OIDC issuer gave no ID token; log in again with the scope openid`);
    return { header: `Bearer ${idToken}`, expiresAt: expiryOf(idToken) - LEEWAY_MS };
  };
}

/** When a JWT expires, in milliseconds since the epoch; 0 for what is no JWT. */
function expiryOf(jwt: string): number {
  const payload = parseJson(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString());
  return isFields(payload) && typeof payload['exp'] === 'number' ? payload['exp'] * 1000 : 0;
}

function clientIn(entry: Entry, env: ConnectOptions['env']): OidcClient | undefined {
  const { fields } = entry;
  const issuer = text(fields['idp-issuer-url']);
  const clientId = text(fields['client-id']);
  if (!issuer || !clientId) return;
  const data = text(fields['idp-certificate-authority-data']);
  const file = pathIn(entry, 'idp-certificate-authority');
  const ca = data ? Buffer.from(data, 'base64') : file && readFileSync(file);
  return { issuer, clientId, clientSecret: text(fields['client-secret']), ca: ca || undefined, env };
}

async function refreshed(client: OidcClient, refreshToken: string): Promise<Fields> {
  const { issuer, clientId, clientSecret } = client;
  const about = await fetchJson(client, `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
  const form = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken, client_id: clientId });
  const methods = about['token_endpoint_auth_methods_supported'];
  // The default of the OIDC specification for issuers that do not say which methods they support.
  const inHeader = !Array.isArray(methods) || methods.includes('client_secret_basic');
  if (clientSecret && !inHeader) form.set('client_secret', clientSecret);
  const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret ?? '')}`;
  const authorization = clientSecret && inHeader ? `Basic ${Buffer.from(pair).toString('base64')}` : undefined;
  return fetchJson(client, String(about['token_endpoint']), form, authorization);
}

async function fetchJson(
  client: OidcClient,
  address: string,
  form?: URLSearchParams,
  authorization?: string,
): Promise<Fields> {
  const url = URL.parse(address);
  if (!url || !/^https?:$/.test(url.protocol)) throw new Error('the issuer is no URL');
  const signal = AbortSignal.timeout(TIME_LIMIT_MS);
  const dial = dialer({ server: url, tls: () => ({ ca: client.ca }) });
  const tunnel = await tunnelTo(url, client.env, signal);
  const { promise, resolve, reject } = Promise.withResolvers<Fields>();
  const headers = {
    accept: 'application/json',
    ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
    ...(authorization && { authorization }),
  };
  const options = { method: form ? 'POST' : 'GET', headers, createConnection: () => dial(tunnel), signal };
  const request = (url.protocol === 'https:' ? https : http).request(url, options, (answer) => {
    const pieces: Buffer[] = [];
    let size = 0;
    answer.on('data', (piece: Buffer) => {
      pieces.push(piece);
      size += piece.length;
      if (size > MAX_ANSWER_BYTES) answer.destroy();
    });
    answer.on('error', () => {});
    answer.on('close', () => {
      const body = parseJson(Buffer.concat(pieces).toString());
      if (answer.statusCode === 200 && isFields(body)) resolve(body);
      else reject(new Error(`${url.host} answered ${answer.statusCode}; log in again`));
    });
  });
  request.on('error', ({ code, name }: NodeJS.ErrnoException) =>
    reject(new Error(`${url.host} does not answer (${code ?? name})`)),
  );
  request.end(form?.toString());
  return promise;
}

/** Through the proxy that the environment names for the server; undefined where it names none. */
async function tunnelTo(server: URL, env: ConnectOptions['env'], signal: AbortSignal): Promise<Socket | undefined> {
  const proxy = environmentProxy(server, env);
  if (!proxy) return;
  const { proxyTunnel } = await import('../proxy/proxy-tunnel.ts');
  const tunnel = await proxyTunnel(server, proxy);
  return tunnel(TIME_LIMIT_MS, signal);
}
