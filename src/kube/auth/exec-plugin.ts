import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, resolve, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { parseJson } from '../parse-json.ts';
import { ConnectError } from '../wire/connect-error.ts';
import type { ConnectOptions } from './connection.ts';
import type { Credential } from './credential.ts';
import { type Entry, type Fields, isFields, pathIn, text } from './kubeconfig-file.ts';
import { installHintText, redactedStderr } from './plugin-output.ts';

type Environment = ConnectOptions['env'];

const TIME_LIMIT_MS = 60_000;
const MAX_OUTPUT_BYTES = 1024 * 1024;
// Of stderr the end is kept, which says why it failed.
const MAX_STDERR_BYTES = 64 * 1024;
// A child of the plugin may keep stderr open after the plugin has ended.
const STDERR_AFTER_EXIT_MS = 200;
/** The cluster extension with the plugin's own configuration. */
const PLUGIN_EXTENSION = 'client.authentication.k8s.io/exec';

/**
 * Runs a user's credential plugin (client.authentication.k8s.io), never interactively. Its stdout is the credential: none
 * of it gets into an error. The last lines of its stderr do.
 */
export function execPlugin(user: Entry, cluster: Entry, options: ConnectOptions): () => Promise<Credential> {
  const exec = isFields(user.fields['exec']) ? user.fields['exec'] : {};
  const who = `${user.file}: user "${user.name}"`;
  const name = text(exec['command']);
  if (!name) throw new Error(`${who}: exec has no command`);
  if (exec['interactiveMode'] === 'Always') {
    throw new Error(`${who}: the plugin "${name}" must have a terminal (interactiveMode: Always), and here is none`);
  }
  // A bare name is looked up in $PATH.
  const command = name.includes(sep) ? resolve(dirname(user.file), name) : name;
  const args = Array.isArray(exec['args']) ? exec['args'].map(String) : [];
  const env = { ...options.env, ...variables(exec['env']), KUBERNETES_EXEC_INFO: execInfo(exec, cluster) };
  const hint = installHintText(text(exec['installHint']) ?? '');
  return async () => {
    const running = run(command, args, env, options.clock ?? systemClock);
    const result = await running.catch((): Result => ({ failure: 'cannot be started' }));
    const { failure = 'gave no token and no certificate with its key', isMissing, stdout = '', stderr = '' } = result;
    const credential = result.failure === undefined ? credentialIn(stdout) : undefined;
    if (credential) return credential;
    const words = redactedStderr(stderr, stdout, env);
    const cure = isMissing && hint !== '' ? hint : 'run it by hand to see why';
    throw new ConnectError(`${who}: the plugin "${name}" ${failure}${words === '' ? '' : `: ${words}`}; ${cure}`);
  };
}

interface Result {
  readonly failure?: string;
  readonly isMissing?: boolean;
  readonly stdout?: string;
  readonly stderr?: string;
}

async function run(command: string, args: readonly string[], env: Environment, clock: Clock): Promise<Result> {
  const { promise, resolve: settle } = Promise.withResolvers<Result>();
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  const end = (result: Result): void => settle({ ...result, stdout: stdout.text(), stderr: stderr.text() });
  const stop = (failure: string): void => {
    end({ failure });
    child.kill('SIGKILL');
    // A child of the plugin may hold the other end open.
    child.stdout.destroy();
    child.stderr.destroy();
  };
  const cancel = clock.after(TIME_LIMIT_MS, () => stop(`did not end within ${TIME_LIMIT_MS / 1000} s`));
  child.stdout.on('data', () => {
    if (stdout.size() > MAX_OUTPUT_BYTES) stop(`said more than ${MAX_OUTPUT_BYTES} bytes`);
  });
  child.stderr.on('data', () => stderr.keepLast(MAX_STDERR_BYTES));
  child.once('error', ({ code }: NodeJS.ErrnoException) => {
    const isMissing = code === 'ENOENT';
    end({ isMissing, failure: isMissing ? 'is not installed, or not in the PATH' : `cannot be started (${code})` });
  });
  child.once('exit', () => {
    // Not before what is in the pipe was read, if we were held up meanwhile.
    const timer = setTimeout(() => setImmediate(() => child.stderr.destroy()), STDERR_AFTER_EXIT_MS);
    child.once('close', () => clearTimeout(timer));
  });
  child.once('close', (code, signal) => end(code === 0 ? {} : { failure: `ended with ${signal ?? `code ${code}`}` }));
  return promise.finally(cancel);
}

/** Collects the output of a stream. */
function collect(stream: Readable) {
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
  const answer = parseJson(output);
  if (!isFields(answer) || answer['kind'] !== 'ExecCredential' || !isFields(answer['status'])) return;
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = answer['status'];
  const hasCertificate = text(cert) !== undefined && text(key) !== undefined;
  if (!text(token) && !hasCertificate) return;
  const expiresAt = Date.parse(String(expirationTimestamp));
  return {
    ...(text(token) && { header: `Bearer ${token}` }),
    ...(hasCertificate && { certificate: { cert: String(cert), key: String(key) } }),
    ...(!Number.isNaN(expiresAt) && { expiresAt }),
  };
}

function variables(list: unknown): Record<string, string> {
  const pairs = (Array.isArray(list) ? list : []).filter(isFields);
  return Object.fromEntries(pairs.map(({ name, value }) => [String(name), String(value ?? '')]));
}

function execInfo(exec: Fields, cluster: Entry): string {
  const spec = { interactive: false, ...(exec['provideClusterInfo'] === true && { cluster: clusterInfo(cluster) }) };
  return JSON.stringify({ apiVersion: exec['apiVersion'], kind: 'ExecCredential', spec });
}

/** JSON leaves out the fields that are undefined. */
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
