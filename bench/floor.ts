import { readFileSync } from 'node:fs';
import http from 'node:http';
import { connect } from 'node:http2';
import https from 'node:https';
import { parseArgs } from 'node:util';
import type { Access } from './api.ts';

/**
 * The floor: what the API server itself costs. It watches ConfigMaps and answers each change with one PATCH for each
 * workload, and decides nothing. No controller that reacts to a watch can be faster than the best of these.
 */
export interface FloorOptions {
  readonly protocol: 'h1' | 'h2';
  readonly concurrency: number;
  readonly namespace: string;
  /** 0: the Deployment with the ConfigMap's own name. N: the Deployments app-0 to app-(N-1). */
  readonly fan: number;
}

/** Sends one request; `line` is told each line of the answer as it comes. */
type Send = (method: string, path: string, body: string | undefined, line: (text: string) => void) => Promise<void>;

/** Runs until the watch ends; `ready` is called when it is open. */
export async function runFloor(access: Access, options: FloorOptions, ready: () => void): Promise<void> {
  const send = options.protocol === 'h1' ? overHttp1(access, options.concurrency + 1) : overHttp2(access);
  const sources = `/api/v1/namespaces/${options.namespace}/configmaps`;
  let version = '';
  await send('GET', `${sources}?limit=1`, undefined, (text) => {
    version = (JSON.parse(text) as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
  });
  const waiting: (readonly [path: string, body: string])[] = [];
  let busy = 0;
  const pump = (): void => {
    while (busy < options.concurrency) {
      const job = waiting.shift();
      if (!job) return;
      busy += 1;
      void send('PATCH', job[0], job[1], () => {}).finally(() => {
        busy -= 1;
        pump();
      });
    }
  };
  const watching = send('GET', `${sources}?watch=1&resourceVersion=${version}`, undefined, (text) => {
    const { type, object } = JSON.parse(text) as WatchEvent;
    if (type !== 'MODIFIED') return;
    const body = patchBody(object.metadata.resourceVersion);
    for (const name of targets(options.fan, object.metadata.name)) {
      waiting.push([`/apis/apps/v1/namespaces/${options.namespace}/deployments/${name}`, body]);
    }
    pump();
  });
  ready();
  await watching;
}

interface WatchEvent {
  readonly type: string;
  readonly object: { readonly metadata: { readonly name: string; readonly resourceVersion: string } };
}

function targets(fan: number, source: string): readonly string[] {
  return fan === 0 ? [source] : Array.from({ length: fan }, (_, index) => `app-${index}`);
}

function patchBody(version: string): string {
  return `{"spec":{"template":{"metadata":{"annotations":{"bench/seen":"${version}"}}}}}`;
}

function headers(access: Access, body: string | undefined): Record<string, string> {
  const common = { authorization: `Bearer ${access.token}`, accept: 'application/json', 'user-agent': 'floor' };
  if (body === undefined) return common;
  return {
    ...common,
    'content-type': 'application/merge-patch+json',
    'content-length': String(Buffer.byteLength(body)),
  };
}

function overHttp1(access: Access, maxSockets: number): Send {
  const { Agent, request } = access.server.startsWith('https:') ? https : http;
  const agent = new Agent({ keepAlive: true, ca: access.authority, maxSockets, scheduling: 'lifo' });
  return (method, path, body, line) =>
    new Promise((resolve, reject) => {
      const options = { method, agent, headers: headers(access, body) };
      const sent = request(new URL(path, access.server), options, (answer) => read(answer, line, resolve, reject));
      sent.on('error', reject);
      sent.end(body);
    });
}

function overHttp2(access: Access): Send {
  const session = connect(access.server, { ca: access.authority });
  return (method, path, body, line) =>
    new Promise((resolve, reject) => {
      const stream = session.request({ ':method': method, ':path': path, ...headers(access, body) });
      stream.on('error', reject);
      read(stream, line, resolve, reject);
      stream.end(body);
    });
}

function read(
  stream: NodeJS.ReadableStream,
  line: (text: string) => void,
  end: () => void,
  failed: (error: Error) => void,
): void {
  let rest = '';
  stream.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const text of lines) line(text);
  });
  stream.on('error', failed);
  stream.on('end', () => {
    if (rest !== '') line(rest);
    end();
  });
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      access: { type: 'string', default: '' },
      protocol: { type: 'string', default: 'h1' },
      concurrency: { type: 'string', default: '1' },
      namespace: { type: 'string', default: 'default' },
      fan: { type: 'string', default: '0' },
    },
  });
  const access = JSON.parse(readFileSync(values.access, 'utf8')) as Access;
  const protocol = values.protocol === 'h2' ? 'h2' : 'h1';
  const { namespace, concurrency, fan } = values;
  await runFloor(access, { protocol, namespace, concurrency: Number(concurrency), fan: Number(fan) }, () =>
    process.stdout.write('ready\n'),
  );
}

if (import.meta.main) await main();
