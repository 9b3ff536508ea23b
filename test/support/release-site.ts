import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll } from 'vitest';
import {
  BINARY_NAMES,
  type BinaryName,
  PROJECTS,
  projectOf,
  type ReleaseSites,
  thisPlatform,
} from '../../src/sandbox/binaries/projects.ts';
import { type ReleaseSums, releaseRow } from '../../src/sandbox/binaries/release-sums.ts';

type Mischief =
  /** The file has other bytes than those that were summed up, and as many. */
  | 'other-bytes'
  /** The connection breaks in the middle, every time. */
  | 'cut-always'
  /** The connection breaks in the middle, the first time. */
  | 'cut-once'
  /** The file is not there. */
  | 'missing'
  /** It ignores what a client says about the part that it has. */
  | 'no-ranges';

export interface ReleaseSite {
  readonly sites: ReleaseSites;
  /** Of what the site has for this platform. */
  readonly sums: ReleaseSums;
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
    if (site.mischief === 'missing') return void response.writeHead(404).end();
    const cuts = site.mischief === 'cut-always' || (site.mischief === 'cut-once' && !cut.has(path));
    cut.add(path);
    const content = site.mischief === 'other-bytes' ? Buffer.alloc(fileAt(path).length) : fileAt(path);
    sendFile(request, response, { content, cuts, ranges: site.mischief !== 'no-ranges' });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async () => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  afterAll(close);
  const sites = { kubernetes: base, helm: base, github: base };
  return {
    sites,
    sums: Object.fromEntries(BINARY_NAMES.map((name) => sumOf(name, sites))),
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

function sumOf(name: BinaryName, sites: ReleaseSites): readonly [string, string] {
  const platform = thisPlatform();
  const url = PROJECTS[projectOf(name)].release(sites, name, platform)?.url;
  const sum =
    url &&
    createHash('sha256')
      .update(fileAt(new URL(url).pathname))
      .digest('hex');
  return [releaseRow(name, platform), sum ?? ''];
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
