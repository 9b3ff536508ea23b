import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { eventually } from '../../test/support/eventually.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import type { LogFields } from './log.ts';
import { createWebhook } from './webhook.ts';

let server: http.Server | undefined;
afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve));
});

/** Breaks the first connections, then answers with 500, which is an answer. */
async function receiver(broken: number) {
  const seen: string[] = [];
  let left = broken;
  server = http.createServer((request, response) => {
    if (left-- > 0) return void request.socket.destroy();
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      seen.push(`${request.method} ${request.headers['content-type']} ${Buffer.concat(chunks)}`);
      response.writeHead(500).end('x'.repeat(5000));
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return { seen, host: `127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function webhookTo(host: string, clock: Clock) {
  const said: (LogFields & { readonly message: string })[] = [];
  const say = (message: string, fields: LogFields = {}): void => void said.push({ message, ...fields });
  const webhook = createWebhook(`http://${host}/hunter2`, {
    log: { debug: say, info: say, warn: say, error: say },
    clock,
  });
  return { webhook, said };
}

test('one POST per change, whatever is answered, and the beginning of the answer in the log', async () => {
  const { seen, host } = await receiver(0);
  const { webhook, said } = webhookTo(host, systemClock);
  webhook.send();
  webhook.send();
  await webhook.drain(10_000);
  expect(seen).toEqual(Array.from({ length: 2 }, () => 'POST application/json {"webhook":"update successful"}'));
  expect(said).toEqual(
    Array.from({ length: 2 }, () => ({ message: 'webhook answered', host, status: 500, body: 'x'.repeat(1024) })),
  );
});

test('while nobody answers nothing is given up, and the pauses grow to a minute at most', async () => {
  const { seen, host } = await receiver(12);
  const waits: number[] = [];
  const { webhook, said } = webhookTo(host, {
    now: () => 0,
    wall: () => 0,
    after(ms, fn) {
      waits.push(ms);
      const soon = setImmediate(fn);
      return () => clearImmediate(soon);
    },
  });
  for (let change = 0; change < 3; change++) webhook.send();
  await eventually(() => seen).toHaveLength(3);
  expect(waits).toHaveLength(12);
  expect(waits[0]).toBeLessThanOrEqual(500);
  expect(Math.min(...waits.slice(7))).toBeGreaterThanOrEqual(30_000);
  expect(Math.max(...waits)).toBeLessThanOrEqual(60_000);
  expect(said.filter(({ message }) => message === 'webhook not reached')).toHaveLength(12);
  expect(JSON.stringify(said)).not.toContain('hunter2');
});
