/** Where a Redis listens. */
export type RedisTarget =
  | { readonly path: string }
  | { readonly host: string; readonly port: number; readonly tls?: TlsOptions | undefined };

export interface TlsOptions {
  /** PEM of the authorities that count; undefined: those that Node knows. Names are not checked: pods are reached by address. */
  readonly ca: Buffer | undefined;
}

/** As people are told of it. */
export function nameOf(target: RedisTarget): string {
  if ('path' in target) return `Redis at ${target.path}`;
  const host = target.host.includes(':') ? `[${target.host}]` : target.host;
  return `Redis at ${host}:${target.port}${target.tls ? ' (TLS)' : ''}`;
}
