import type { ClientRequest } from 'node:http';
import type { RequestOptions } from 'node:https';
import type { Socket } from 'node:net';
import tls from 'node:tls';
import { http, https } from '../runtime/node-http.ts';

export interface PostRequest {
  readonly url: URL;
  readonly proxy: URL | undefined;
  readonly contentType: string;
  readonly body: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface PostAnswer {
  readonly status: number;
  /** No more than the beginning. */
  readonly body: string;
  /** The Retry-After header, when it is a number of seconds. */
  readonly retryAfterMs: number | undefined;
}

const BODY_LIMIT = 1024;

/**
 * One POST on a connection of its own. Redirects are not followed, and no proxy of the environment is asked.
 *
 * Rejects when there is no answer; the error's message never holds more of the URL than its host.
 */
export async function post(request: PostRequest): Promise<PostAnswer> {
  const { url, proxy, body, contentType } = request;
  const timeout = AbortSignal.timeout(request.timeoutMs);
  const signal = AbortSignal.any([request.signal, timeout]);
  const headers = {
    host: url.host,
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    ...credentials('authorization', url),
  };
  const path = `${url.pathname}${url.search}`;
  try {
    if (proxy && url.protocol === 'https:') {
      const socket = tls.connect({ socket: await tunnel(url, proxy, signal), ...serverName(url) });
      const inside = { method: 'POST', host: url.hostname, path, headers, signal, createConnection: () => socket };
      return await exchange(https.request(inside), body);
    }
    const direct = { ...address(url), method: 'POST', headers, signal, agent: false, path };
    const through = proxy && {
      ...direct,
      ...address(proxy),
      path: `${url.protocol}//${url.host}${path}`,
      headers: { ...headers, ...credentials('proxy-authorization', proxy) },
    };
    return await exchange(send(proxy ?? url, through ?? direct), body);
  } catch (error) {
    if (!timeout.aborted) throw error;
    throw new Error(`no answer from ${url.host} within ${request.timeoutMs} ms`, { cause: error });
  }
}

const send = (to: URL, options: RequestOptions): ClientRequest =>
  (to.protocol === 'https:' ? https : http).request(options);

/** Asks the proxy for a connection to the target, so that it sees nothing but the target's name. */
async function tunnel(url: URL, proxy: URL, signal: AbortSignal): Promise<Socket> {
  const target = `${url.hostname}:${url.port || 443}`;
  const request = send(proxy, {
    ...address(proxy),
    method: 'CONNECT',
    path: target,
    headers: { host: target, ...credentials('proxy-authorization', proxy) },
    agent: false,
    signal,
  });
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  request.once('error', reject);
  const refuse = (status: number | undefined) => reject(new Error(`the proxy ${proxy.host} answered ${status}`));
  request.once('response', ({ statusCode }) => refuse(statusCode));
  request.once('connect', ({ statusCode }, socket) => {
    if (statusCode === 200) return resolve(socket as Socket);
    socket.destroy();
    refuse(statusCode);
  });
  request.end();
  return promise;
}

async function exchange(request: ClientRequest, body: string): Promise<PostAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<PostAnswer>();
  request.once('error', reject);
  request.once('response', (response) => {
    const chunks: Buffer[] = [];
    let size = 0;
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      // Nobody needs the rest, and it may have no end.
      if (size >= BODY_LIMIT) response.destroy();
    });
    // Not `end`: the status is the answer, and a body that is cut short changes nothing about it.
    response.on('error', () => {});
    response.once('close', () => {
      const { statusCode: status = 0, headers } = response;
      const seconds = Number(headers['retry-after']);
      resolve({
        status,
        body: Buffer.concat(chunks).subarray(0, BODY_LIMIT).toString(),
        retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : undefined,
      });
    });
  });
  request.end(body);
  return promise;
}

/** Brackets around an IPv6 address belong to the URL, not to the address. */
const address = (url: URL) => ({
  host: url.hostname.replace(/^\[|\]$/g, ''),
  ...(url.port === '' ? {} : { port: Number(url.port) }),
  ...serverName(url),
});

/** TLS asks for names only. Empty, not absent: else the Host header would say whose certificate is expected of a proxy. */
const serverName = (url: URL) => ({ servername: /^[\d.]+$|^\[/.test(url.hostname) ? '' : url.hostname });

function credentials(header: string, url: URL): Record<string, string> {
  if (url.username === '' && url.password === '') return {};
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { [header]: `Basic ${Buffer.from(pair).toString('base64')}` };
}
