import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll } from 'vitest';
import type { ReleaseSites } from '../../src/sandbox/binaries/projects.ts';

type Mischief =
  /** The published sum is of something else. */
  | 'wrong-sum'
  /** The connection breaks in the middle, every time. */
  | 'cut-always'
  /** The connection breaks in the middle, the first time. */
  | 'cut-once'
  /** The file is not there. */
  | 'missing'
  /** The sum is not there. */
  | 'no-sum'
  /** It ignores what a client says about the part that it has. */
  | 'no-ranges';

export interface ReleaseSite {
  readonly sites: ReleaseSites;
  /** The paths asked for, with the range of each. */
  readonly requests: string[];
  mischief: Mischief | undefined;
  close(): Promise<void>;
}

/** A server with the paths of dl.k8s.io, get.helm.sh and GitHub's releases; each program is a script with its name. */
export async function releaseSite(): Promise<ReleaseSite> {
  const requests: string[] = [];
  const site: { mischief: Mischief | undefined } = { mischief: undefined };
  const cut = new Set<string>();
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? '');
    requests.push(`${path} ${request.headers.range ?? ''}`.trim());
    const sum = sumAt(path);
    if (sum !== undefined) return sendSum(response, sum, site.mischief);
    if (site.mischief === 'missing') return void response.writeHead(404).end();
    const cuts = site.mischief === 'cut-always' || (site.mischief === 'cut-once' && !cut.has(path));
    cut.add(path);
    sendFile(request, response, { content: fileAt(path), cuts, ranges: site.mischief !== 'no-ranges' });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  afterAll(close);
  return {
    sites: { kubernetes: base, helm: base, github: base, githubApi: `${base}/api` },
    requests,
    close,
    get mischief() {
      return site.mischief;
    },
    set mischief(value) {
      site.mischief = value;
      cut.clear();
    },
  };
}

/** What a program of the site prints. */
function scriptOf(name: string): string {
  // Long enough to be cut in the middle.
  return `#!/bin/sh\necho ${name}\n#${'x'.repeat(200_000)}\n`;
}

const files = new Map<string, Buffer>();

/** An archive is made once: its bytes depend on the time. */
function fileAt(path: string): Buffer {
  const known = files.get(path);
  if (known) return known;
  const content = path.endsWith('.tar.gz') ? archive(path) : Buffer.from(scriptOf(programOf(path)));
  files.set(path, content);
  return content;
}

function programOf(path: string): string {
  const last = path.split('/').at(-1) ?? '';
  return last.startsWith('kwok-') ? 'kwok' : last;
}

function archive(path: string): Buffer {
  const name = (path.split('/').at(-1) ?? '').replace('.tar.gz', '');
  const folder = mkdtempSync(join(tmpdir(), 'attune-archive-'));
  // Helm's archive is named after the version and holds a folder without it.
  const member = name.startsWith('helm') ? `${name.split('-').slice(2).join('-')}/helm` : `${name}/etcd`;
  mkdirSync(dirname(join(folder, member)));
  writeFileSync(join(folder, member), scriptOf(name.startsWith('helm') ? 'helm' : 'etcd'), { mode: 0o755 });
  execFileSync('tar', ['-czf', 'archive', member], { cwd: folder });
  const content = readFileSync(join(folder, 'archive'));
  rmSync(folder, { recursive: true });
  return content;
}

type Sum = (of: (path: string) => string) => string;

function sumAt(path: string): Sum | undefined {
  if (path.endsWith('.sha256')) return (of) => of(path.replace('.sha256', ''));
  if (path.endsWith('.sha256sum')) {
    const file = path.replace('.sha256sum', '');
    return (of) => `${of(file)}  ${file.split('/').at(-1)}\n`;
  }
  if (path.endsWith('/SHA256SUMS')) {
    const names = ['etcd-v3.6.13-linux-amd64.tar.gz', 'etcd-v3.6.13-linux-arm64.tar.gz'];
    return (of) => names.map((name) => `${of(path.replace('SHA256SUMS', name))}  ${name}\n`).join('');
  }
  if (path.startsWith('/api/repos/kubernetes-sigs/kwok/')) {
    const names = ['kwok-linux-amd64', 'kwok-linux-arm64'];
    const folder = '/kubernetes-sigs/kwok/releases/download/v0.8.0';
    return (of) =>
      JSON.stringify({ assets: names.map((name) => ({ name, digest: `sha256:${of(`${folder}/${name}`)}` })) });
  }
  return undefined;
}

function sendSum(response: ServerResponse, sum: Sum, mischief: Mischief | undefined): void {
  if (mischief === 'no-sum') return void response.writeHead(404).end();
  const digest = (path: string) => createHash('sha256').update(fileAt(path)).digest('hex');
  response.end(sum(mischief === 'wrong-sum' ? () => '0'.repeat(64) : digest));
}

interface Sending {
  readonly content: Buffer;
  readonly cuts: boolean;
  readonly ranges: boolean;
}

function sendFile(request: IncomingMessage, response: ServerResponse, { content, cuts, ranges }: Sending): void {
  const from = ranges ? Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0) : 0;
  if (from >= content.length) return void response.writeHead(416).end();
  const rest = content.subarray(from);
  response.writeHead(from > 0 ? 206 : 200, { 'content-length': rest.length });
  if (!cuts) return void response.end(rest);
  // A cut right behind the bytes would overtake them in the client, which then had nothing to go on from.
  response.write(rest.subarray(0, Math.floor(rest.length / 2)), () => setTimeout(() => response.destroy(), 250));
}
