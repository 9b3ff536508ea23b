/** Nothing has been sent or received for too long. */
export class IdleTimeout extends Error {}

/** Why there was no connection or no credential, in words that may be told to anybody. */
export class ConnectError extends Error {
  readonly code: string | undefined;

  constructor(message: string, code?: string) {
    super(message);
    this.code = code;
  }
}

/** Who did not answer as expected. */
export interface Endpoint {
  /** As it is called in messages: `10.0.0.1:6443`, `the proxy corp:3128`. Nothing of a URL's credentials. */
  readonly name: string;
  /** What helps where its certificate is not trusted. */
  readonly trust: string;
}

export const serverEndpoint = (server: URL, proxy?: URL): Endpoint => ({
  name: proxy ? `${hostPort(server)} through the proxy ${hostPort(proxy)}` : hostPort(server),
  trust:
    "see whether the kubeconfig's certificate authority, or the ServiceAccount's ca.crt, is the one of this server",
});

export const proxyEndpoint = (proxy: URL): Endpoint => ({
  name: `the proxy ${hostPort(proxy)}`,
  trust: 'name the file of its certificate authority in NODE_EXTRA_CA_CERTS',
});

const PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' };

/** Host and port alone: a URL may hold a password. */
export const hostPort = ({ protocol, hostname, port }: URL): string =>
  `${hostname}:${port || (PORTS[protocol] ?? '1080')}`;

// Until a connection can be used. A server that is there takes milliseconds; a SYN that was lost is sent again after 1, 3
// and 7 s.
const DIAL_MS = 10_000;

/** Fails a connection that is not ready in time; to be called off as soon as it is. */
export function connectTimeout({ name }: Endpoint, fail: (error: ConnectError) => void): () => void {
  const words = `no connection to ${name} within ${DIAL_MS / 1000} s; is the address right, and does a firewall let us through?`;
  const timer = setTimeout(() => fail(new ConnectError(words)), DIAL_MS);
  return () => clearTimeout(timer);
}

export const toIdleTimeout = ({ name }: Endpoint, ms: number | undefined): IdleTimeout =>
  new IdleTimeout(`${name} has said nothing${ms ? ` for ${ms / 1000} s` : ''}`);

/** What broke a connection, in plain words; what is in plain words already stays. */
export function toConnectError(endpoint: Endpoint, error: unknown): Error {
  if (error instanceof ConnectError || error instanceof IdleTimeout) return error;
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (!code || !/^[A-Z][A-Z0-9_]+$/.test(code)) return new ConnectError(`${endpoint.name}: the answer broke off`);
  const [what, cure] = meaningOf(code, endpoint, (error as { readonly hostname?: string }).hostname);
  return new ConnectError(`${endpoint.name}: ${what} (${code})${cure === undefined ? '' : `; ${cure}`}`, code);
}

/** A connection that could not even be tried. */
export function toOpenError(endpoint: Endpoint, error: unknown): Error {
  const { code } = error as NodeJS.ErrnoException;
  return code ? toConnectError(endpoint, error) : new ConnectError(`no connection to ${endpoint.name} could be opened`);
}

type Meaning = readonly [what: string, cure?: string];

const MEANINGS: Readonly<Record<string, Meaning>> = {
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

function meaningOf(code: string, { trust }: Endpoint, host = 'of this name'): Meaning {
  if (code === 'ENOTFOUND') return [`there is no host ${host}`, 'is the name right, and does DNS work here?'];
  if (code === 'EAI_AGAIN') return [`no DNS server tells where host ${host} is`];
  if (UNTRUSTED.has(code)) return ['its certificate is not trusted', trust];
  if (/^ERR_SSL_.*ALERT_/.test(code)) return ['it refuses our TLS connection', 'see the client certificate'];
  return MEANINGS[code] ?? ['the connection failed'];
}
