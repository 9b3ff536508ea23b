import http from 'node:http';
import https from 'node:https';
import { connect } from 'node:net';
import { pause } from '../../runtime/backoff.ts';
import { systemClock } from '../../runtime/clock.ts';
import type { PodContainer, Probe } from './pod.ts';

export interface ProbeOptions {
  readonly signal: AbortSignal;
  readonly changed: (healthy: boolean) => void;
  /** Until the first success, probe more often than the pod spec says: tests wait for it. */
  readonly eager: boolean;
}

const EAGER_SECONDS = 0.25;
// No timer of Node waits longer.
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * Probes a container until aborted, and calls `changed` when its health changes: to false after `failureThreshold`
 * failures in a row, to true after `successThreshold` successes.
 */
export async function runProbe(
  probe: Probe,
  container: PodContainer,
  host: string,
  { signal, changed, eager }: ProbeOptions,
): Promise<void> {
  const { failureThreshold = 3, successThreshold = 1, periodSeconds = 10, initialDelaySeconds = 0 } = probe;
  const rest = (seconds: number) => pause(systemClock, seconds * 1000, signal);
  let healthy: boolean | undefined;
  let streak = 0;
  let last: boolean | undefined;
  await rest(initialDelaySeconds);
  while (!signal.aborted) {
    const good = await probeOnce(probe, container, host);
    streak = good === last ? streak + 1 : 1;
    last = good;
    if (!signal.aborted && healthy !== good && streak >= (good ? successThreshold : failureThreshold)) {
      healthy = good;
      changed(good);
    }
    await rest(eager && !healthy ? Math.min(periodSeconds, EAGER_SECONDS) : periodSeconds);
  }
}

async function probeOnce(probe: Probe, container: PodContainer, host: string): Promise<boolean> {
  const timeoutMs = Math.min((probe.timeoutSeconds ?? 1) * 1000, MAX_TIMEOUT_MS);
  if (probe.httpGet) {
    const { path = '/', port, scheme = 'HTTP' } = probe.httpGet;
    const slash = path.startsWith('/') ? '' : '/';
    return await httpGet(`${scheme.toLowerCase()}://${host}:${portOf(port, container)}${slash}${path}`, timeoutMs);
  }
  if (probe.tcpSocket) return await tcpConnect(host, portOf(probe.tcpSocket.port, container), timeoutMs);
  return true; // exec and gRPC probes are not supported, and count as successful
}

function portOf(port: number | string, container: PodContainer): number {
  if (typeof port === 'number') return port;
  return container.ports?.find(({ name }) => name === port)?.containerPort ?? Number(port);
}

/** As in the kubelet, any status from 200 to 399 is a success, and certificates are not checked. */
function httpGet(url: string, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const client = url.startsWith('https:') ? https : http;
    const options = { agent: false, rejectUnauthorized: false, signal: AbortSignal.timeout(timeoutMs) };
    client
      .get(url, options, (answer) => {
        answer.resume();
        const status = answer.statusCode ?? 0;
        resolve(status >= 200 && status < 400);
      })
      .on('error', () => resolve(false));
  });
}

function tcpConnect(host: string, port: number, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const answer = (good: boolean) => {
      socket.destroy();
      resolve(good);
    };
    socket.once('connect', () => answer(true));
    socket.once('timeout', () => answer(false));
    socket.once('error', () => answer(false));
  });
}
