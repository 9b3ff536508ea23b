import { hostAndPort } from './address.ts';

/** Nothing has been sent or received for too long. */
export class IdleTimeout extends Error {}

/** Why there is no connection or no credential. The message is safe to log: it holds no credential. */
export class ConnectError extends Error {
  readonly code: string | undefined;

  constructor(message: string, code?: string) {
    super(message);
    this.code = code;
  }
}

/** The server or proxy that an error message is about. */
export interface Endpoint {
  /** As it is called in messages: `10.0.0.1:6443`, `the proxy corp:3128`. Without the credentials that a URL may hold. */
  readonly name: string;
  /** What to do where its certificate is not trusted. */
  readonly trustHint: string;
}

export const serverEndpoint = (server: URL, proxy?: URL): Endpoint => ({
  name: proxy ? `${hostAndPort(server)} through the proxy ${hostAndPort(proxy)}` : hostAndPort(server),
  trustHint:
    "see whether the kubeconfig's certificate authority, or the ServiceAccount's ca.crt, is the one of this server",
});

export const proxyEndpoint = (proxy: URL): Endpoint => ({
  name: `the proxy ${hostAndPort(proxy)}`,
  trustHint: 'name the file of its certificate authority in NODE_EXTRA_CA_CERTS',
});

// A server that is up takes milliseconds. A lost SYN is sent again after 1, 3 and 7 s.
const CONNECT_TIMEOUT_MS = 10_000;

/** Calls `fail` unless the returned function is called in time: as soon as the connection can be used. */
export function connectTimeout({ name }: Endpoint, fail: (error: ConnectError) => void): () => void {
  const seconds = CONNECT_TIMEOUT_MS / 1000;
  const message = `no connection to ${name} within ${seconds} s; is the address right, and does a firewall let us through?`;
  const timer = setTimeout(() => fail(new ConnectError(message)), CONNECT_TIMEOUT_MS);
  return () => clearTimeout(timer);
}

export const toIdleTimeout = ({ name }: Endpoint, ms: number | undefined): IdleTimeout =>
  new IdleTimeout(`${name} has said nothing${ms ? ` for ${ms / 1000} s` : ''}`);

/** Explains an error of a socket by its code. The error's own message is not used: it may hold anything. */
export function toConnectError(
  endpoint: Endpoint,
  error: unknown,
  withoutCode = `${endpoint.name}: the answer broke off`,
): Error {
  if (error instanceof ConnectError || error instanceof IdleTimeout) return error;
  const { code, hostname } = (error ?? {}) as NodeJS.ErrnoException & { readonly hostname?: string };
  if (!code || !/^[A-Z][A-Z0-9_]+$/.test(code)) return new ConnectError(withoutCode);
  const [what, cure] = explain(code, endpoint, hostname);
  return new ConnectError(`${endpoint.name}: ${what} (${code})${cure === undefined ? '' : `; ${cure}`}`, code);
}

/** The same for a connection that could not even be started. */
export const toOpenError = (endpoint: Endpoint, error: unknown): Error =>
  toConnectError(endpoint, error, `no connection to ${endpoint.name} could be opened`);

type Explanation = readonly [what: string, cure?: string];

const EXPLANATIONS: Readonly<Record<string, Explanation>> = {
  ECONNREFUSED: ['the connection was refused', 'is it running, and is this its port?'],
  ETIMEDOUT: ['it does not answer', 'is the address right, and does a firewall let us through?'],
  EHOSTUNREACH: ['there is no way to this host'],
  ENETUNREACH: ['there is no way to its network'],
  ECONNRESET: ['the connection was closed'],
  EPIPE: ['the connection was closed'],
  EMFILE: ['this process may open no more files'],
  CERT_HAS_EXPIRED: ['its certificate has expired', 'renew it, or set the clock of this machine'],
  CERT_NOT_YET_VALID: ['its certificate is not valid yet', 'set the clock of this machine'],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    'its certificate is for other names',
    'use one of those, or tls-server-name of the kubeconfig',
  ],
  EPROTO: ['it does not speak TLS as we do', 'is this its port?'],
  ERR_SSL_WRONG_VERSION_NUMBER: ['it does not speak TLS', 'is it http:// that is meant, or another port?'],
};

const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
]);

function explain(code: string, { trustHint }: Endpoint, host = 'of this name'): Explanation {
  if (code === 'ENOTFOUND') return [`there is no host ${host}`, 'is the name right, and does DNS work here?'];
  if (code === 'EAI_AGAIN') return [`no DNS server tells where host ${host} is`];
  if (UNTRUSTED.has(code)) return ['its certificate is not trusted', trustHint];
  if (/^ERR_SSL_.*ALERT_/.test(code)) return ['it refuses our TLS connection', 'see the client certificate'];
  return EXPLANATIONS[code] ?? ['the connection failed'];
}
