import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { parseArgs } from 'node:util';
import { now } from './api.ts';

/**
 * Sends one AdmissionReview again and again to an endpoint, at an even pace, as an API server would: over a few kept
 * connections. Prints, as JSON, how long each took and what went wrong. A process of its own, so that what it measures is
 * not its own work.
 */
const { values } = parseArgs({
  options: {
    url: { type: 'string', default: '' },
    bundle: { type: 'string', default: '' },
    body: { type: 'string', default: '' },
    rate: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '30' },
    connections: { type: 'string', default: '8' },
  },
});

const body = readFileSync(values.body);
const agent = new Agent({
  keepAlive: true,
  maxSockets: Number(values.connections),
  ca: readFileSync(values.bundle, 'utf8'),
});
const headers = { 'content-type': 'application/json', 'content-length': body.length };
const latencies: number[] = [];
const failures: string[] = [];
let patched = 0;

function send(): Promise<void> {
  const began = now();
  return new Promise((resolve) => {
    const fail = (error: Error): void => {
      failures.push(error.message);
      resolve();
    };
    const sent = request(`${values.url}/mutate`, { method: 'POST', agent, headers, timeout: 5000 }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => {
        text += chunk;
      });
      answer.on('error', fail);
      answer.on('end', () => {
        latencies.push(now() - began);
        if (answer.statusCode !== 200 || !text.includes('"allowed":true'))
          failures.push(`${answer.statusCode} ${text}`);
        if (text.includes('"patch":')) patched += 1;
        resolve();
      });
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer within 5 s')));
    sent.on('error', fail);
    sent.end(body);
  });
}

const gapMs = 1000 / Number(values.rate);
const total = Number(values.rate) * Number(values.seconds);
const began = now();
const underWay: Promise<void>[] = [];
await new Promise<void>((resolve) => {
  // Requests are due by the clock and not by the answers: a slow answer delays none of them.
  const pace = setInterval(() => {
    while (underWay.length < total && now() >= began + underWay.length * gapMs) underWay.push(send());
    if (underWay.length < total) return;
    clearInterval(pace);
    resolve();
  }, 1);
});
await Promise.all(underWay);
agent.destroy();
process.stdout.write(JSON.stringify({ latencies, patched, failures: failures.length, failure: failures[0] ?? '' }));
