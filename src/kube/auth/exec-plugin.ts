import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, resolve, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { ConnectError } from '../wire/connect-error.ts';
import type { Credential } from './credential.ts';
import { type Entry, type Fields, isFields, pathIn, text } from './kubeconfig-file.ts';
import { installHintText, redactedStderr } from './plugin-output.ts';

export interface ExecPluginOptions {
  /** What the plugin finds in its environment beside its own variables. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock | undefined;
}

interface Plugin {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

const TIME_LIMIT_MS = 60_000;
const MAX_OUTPUT_BYTES = 1024 * 1024;
// Of its stderr the end is kept: there it says why it gave up.
const MAX_WORDS_BYTES = 64 * 1024;
// A process of the plugin's own may keep its stderr open.
const LAST_WORDS_MS = 200;
/** The extension of a cluster that is meant for the plugin. */
const PLUGIN_EXTENSION = 'client.authentication.k8s.io/exec';

/**
 * Runs the plugin of a user (the protocol client.authentication.k8s.io). Nobody is at a terminal to be asked. What the
 * plugin says on stdout is a credential: none of it gets into an error. Of its stderr the last lines do.
 */
export function execPlugin(user: Entry, cluster: Entry, options: ExecPluginOptions): () => Promise<Credential> {
  const exec = isFields(user.fields['exec']) ? user.fields['exec'] : {};
  const who = `${user.file}: user "${user.name}"`;
  const name = text(exec['command']);
  if (!name) throw new Error(`${who}: exec has no command`);
  if (exec['interactiveMode'] === 'Always') {
    throw new Error(`${who}: the plugin "${name}" must have a terminal (interactiveMode: Always), and here is none`);
  }
  const plugin = {
    // What is no path is looked for in $PATH.
    command: name.includes(sep) ? resolve(dirname(user.file), name) : name,
    args: Array.isArray(exec['args']) ? exec['args'].map(String) : [],
    env: { ...options.env, ...variables(exec['env']), KUBERNETES_EXEC_INFO: execInfo(exec, cluster) },
  };
  const hint = installHintText(text(exec['installHint']) ?? '');
  return async () => {
    const said = await run(plugin, options.clock ?? systemClock).catch((): Said => ({ failure: 'cannot be started' }));
    const credential = said.failure === undefined ? credentialIn(said.stdout ?? '') : undefined;
    if (credential) return credential;
    const failure = said.failure ?? 'gave no token and no certificate with its key';
    const words = redactedStderr(said.stderr ?? '', said.stdout ?? '', plugin.env);
    const cure = said.isMissing && hint !== '' ? hint : 'run it by hand to see why';
    throw new ConnectError(`${who}: the plugin "${name}" ${failure}${words === '' ? '' : `: ${words}`}; ${cure}`);
  };
}

/** What came of a run. */
interface Said {
  readonly failure?: string;
  readonly isMissing?: boolean;
  readonly stdout?: string;
  readonly stderr?: string;
}

async function run({ command, args, env }: Plugin, clock: Clock): Promise<Said> {
  const { promise, resolve: settle } = Promise.withResolvers<Said>();
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const stdout = gathered(child.stdout);
  const stderr = gathered(child.stderr);
  const end = (said: Said): void => settle({ ...said, stdout: stdout.text(), stderr: stderr.text() });
  const stop = (failure: string): void => {
    end({ failure });
    child.kill('SIGKILL');
    // A process of the plugin's own may hold the other end.
    child.stdout.destroy();
    child.stderr.destroy();
  };
  const callOff = clock.after(TIME_LIMIT_MS, () => stop(`did not end within ${TIME_LIMIT_MS / 1000} s`));
  child.stdout.on('data', () => {
    if (stdout.size() > MAX_OUTPUT_BYTES) stop(`said more than ${MAX_OUTPUT_BYTES} bytes`);
  });
  child.stderr.on('data', () => stderr.keepLast(MAX_WORDS_BYTES));
  child.once('error', ({ code }: NodeJS.ErrnoException) => {
    const isMissing = code === 'ENOENT';
    end({ isMissing, failure: isMissing ? 'is not installed, or not in the PATH' : `cannot be started (${code})` });
  });
  child.once('exit', () => {
    const silence = setTimeout(() => child.stderr.destroy(), LAST_WORDS_MS);
    child.once('close', () => clearTimeout(silence));
  });
  child.once('close', (code, signal) => end(code === 0 ? {} : { failure: `ended with ${signal ?? `code ${code}`}` }));
  return promise.finally(callOff);
}

/** What has come out of a stream so far. */
function gathered(stream: Readable) {
  let pieces: Buffer[] = [];
  let size = 0;
  stream.on('data', (piece: Buffer) => {
    pieces.push(piece);
    size += piece.length;
  });
  return {
    size: () => size,
    text: () => Buffer.concat(pieces).toString(),
    keepLast(bytes: number): void {
      if (size <= 2 * bytes) return;
      pieces = [Buffer.concat(pieces).subarray(-bytes)];
      size = bytes;
    },
  };
}

function credentialIn(output: string): Credential | undefined {
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = statusIn(output);
  const hasPair = text(cert) !== undefined && text(key) !== undefined;
  if (!text(token) && !hasPair) return;
  const expiresAt = Date.parse(String(expirationTimestamp));
  return {
    ...(text(token) && { header: `Bearer ${token}` }),
    ...(hasPair && { pair: { cert: String(cert), key: String(key) } }),
    ...(!Number.isNaN(expiresAt) && { expiresAt }),
  };
}

function statusIn(output: string): Fields {
  try {
    const { kind, status } = JSON.parse(output) as Fields;
    return kind === 'ExecCredential' && isFields(status) ? status : {};
  } catch {
    return {};
  }
}

function variables(list: unknown): Record<string, string> {
  const pairs = (Array.isArray(list) ? list : []).filter(isFields);
  return Object.fromEntries(pairs.map(({ name, value }) => [String(name), String(value ?? '')]));
}

function execInfo(exec: Fields, cluster: Entry): string {
  const spec = { interactive: false, ...(exec['provideClusterInfo'] === true && { cluster: clusterInfo(cluster) }) };
  return JSON.stringify({ apiVersion: exec['apiVersion'], kind: 'ExecCredential', spec });
}

/** Absent fields are left out by JSON. */
function clusterInfo(cluster: Entry): Fields {
  const { fields } = cluster;
  const authority = pathIn(cluster, 'certificate-authority');
  const extensions = Array.isArray(fields['extensions']) ? fields['extensions'].filter(isFields) : [];
  return {
    server: fields['server'],
    'tls-server-name': fields['tls-server-name'],
    'insecure-skip-tls-verify': fields['insecure-skip-tls-verify'],
    'certificate-authority-data':
      fields['certificate-authority-data'] ?? (authority && readFileSync(authority, 'base64')),
    'proxy-url': fields['proxy-url'],
    config: extensions.find(({ name }) => name === PLUGIN_EXTENSION)?.['extension'],
  };
}
