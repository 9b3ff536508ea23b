import { once } from 'node:events';
import https from 'node:https';
import { connect, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { afterEach } from 'vitest';
import {
  type AdmissionServerDeps,
  createAdmissionServer,
  LIMITS,
  type Limits,
} from '../../src/admission/serve/server.ts';
import type { AdmissionRequest, Answer, CurrentHash } from '../../src/domain/admission/request.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { ADMISSION_METRICS } from '../../src/telemetry/metric-tables/admission.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { selfSigned } from './self-signed.ts';

const HOST = '127.0.0.1';
export const certificate = selfSigned(HOST);

export const UNCHANGED = {
  allowed: true,
  operations: [],
  warnings: [],
  restored: { variables: 0, annotations: 0, record: 0 },
  hash: 'none',
} as const satisfies Answer;

const running: { stop(): Promise<void> }[] = [];
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const each of running.splice(0)) await each.stop();
});

/** An admission server on loopback that ends with the test, with all that it logs and is asked. */
export function admissionServer(deps: Partial<AdmissionServerDeps> = {}, limits: Partial<Limits> = {}) {
  const lines: string[] = [];
  const requests: AdmissionRequest[] = [];
  const metrics = createMetrics(ADMISSION_METRICS);
  const { admit = () => UNCHANGED } = deps;
  const server = createAdmissionServer(
    {
      listen: { host: HOST, port: 0 },
      isReady: () => true,
      clock: systemClock,
      log: createLog({ format: '', level: 'debug', write: (line) => void lines.push(line), now: () => 0 }),
      metrics,
      readHash: async () => ({ error: 'nothing is to be read' }),
      timeoutSeconds: () => 3,
      ...deps,
      admit(request, hash) {
        if (hash === undefined) requests.push(request);
        return admit(request, hash);
      },
    },
    { ...LIMITS, ...limits },
  );
  running.push(server);
  return { server, lines, requests, metrics };
}

/** A review that waits for what is read, until it is told otherwise. */
export function heldReview() {
  const reading = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<CurrentHash>();
  const held: Pick<AdmissionServerDeps, 'admit' | 'readHash'> = {
    admit: (_, hash) => (hash === undefined ? { lists: {}, namespace: '' } : UNCHANGED),
    readHash: () => {
      reading.resolve();
      return answered.promise;
    },
  };
  return { held, begun: reading.promise, answer: () => answered.resolve({ error: 'none' }) };
}

/** The same, serving already. */
export async function servedAdmission(deps: Partial<AdmissionServerDeps> = {}, limits: Partial<Limits> = {}) {
  const world = admissionServer(deps, limits);
  world.server.useCertificate(certificate);
  const port = await world.server.start();
  return { ...world, port, count: (series: string) => seriesValue(world.metrics.render(), series) };
}

function seriesValue(text: string, series: string): number {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1));
}

export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly agent?: https.Agent;
  /** Another address of this machine. */
  readonly from?: string;
}

export interface Asked {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

export async function ask(
  port: number,
  path: string,
  { method = 'GET', headers = {}, body, agent, from = HOST }: Ask = {},
): Promise<Asked> {
  const options = {
    host: HOST,
    port,
    path,
    method,
    headers,
    ca: certificate.cert,
    agent: agent ?? false,
    localAddress: from,
  };
  const request = https.request(options);
  request.end(body);
  const [response] = await once(request, 'response');
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks).toString() };
}

/** Sends a review, or what is taken for one, as the API server does. */
export const post = (port: number, body: unknown, extra: Ask = {}): Promise<Asked> =>
  ask(port, '/mutate', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
    ...extra,
  });

export const reviewOf = (request: object): object => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: { uid: 'u-1', ...request },
});

/** A connection over which a test sends what it likes. It ends with the test. */
export async function tlsConnection(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connectTls({ host: HOST, port, ca: certificate.cert, ...options });
  await once(socket, 'secureConnect');
  sockets.push(socket.on('error', () => {}));
  return socket;
}

/** The same without TLS. */
export async function tcpConnection(port: number): Promise<Socket> {
  const socket = connect(port, HOST);
  await once(socket, 'connect');
  sockets.push(socket.on('error', () => {}));
  return socket;
}

/** What arrives until the other side ends the connection. */
export function untilEnd(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  return new Promise((resolve) => socket.once('close', () => resolve(text)));
}
