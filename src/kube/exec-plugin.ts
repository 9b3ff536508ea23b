import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, resolve, sep } from 'node:path';
import { type Clock, systemClock } from '../runtime/clock.ts';
import type { Credential } from './credential.ts';
import { type Entry, type Fields, isFields, pathIn, text } from './kubeconfig-file.ts';

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
/** The extension of a cluster that is meant for the plugin. */
const PLUGIN_EXTENSION = 'client.authentication.k8s.io/exec';

/**
 * Runs the plugin of a user (the protocol client.authentication.k8s.io). Nobody is at a terminal to be asked. What the
 * plugin says is a credential, or may quote one: none of it gets into an error, and its stderr goes nowhere.
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
  return async () => {
    const said = await run(plugin, options.clock ?? systemClock).catch(() => ({ failure: 'cannot be started' }));
    const credential = 'output' in said ? credentialIn(said.output) : undefined;
    if (credential) return credential;
    const failure = 'failure' in said ? said.failure : 'gave no token and no certificate with its key';
    throw new Error(`${who}: the plugin "${name}" ${failure}; run it by hand to see why`);
  };
}

async function run(
  { command, args, env }: Plugin,
  clock: Clock,
): Promise<{ readonly output: string } | { readonly failure: string }> {
  const { promise, resolve: settle } = Promise.withResolvers<Awaited<ReturnType<typeof run>>>();
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'ignore'] });
  const pieces: Buffer[] = [];
  let size = 0;
  const stop = (failure: string): void => {
    settle({ failure });
    child.kill('SIGKILL');
    // A process of the plugin's own may hold the other end.
    child.stdout.destroy();
  };
  const callOff = clock.after(TIME_LIMIT_MS, () => stop(`did not end within ${TIME_LIMIT_MS / 1000} s`));
  child.stdout.on('data', (piece: Buffer) => {
    pieces.push(piece);
    size += piece.length;
    if (size > MAX_OUTPUT_BYTES) stop(`said more than ${MAX_OUTPUT_BYTES} bytes`);
  });
  child.once('error', ({ code }: NodeJS.ErrnoException) =>
    settle({ failure: code === 'ENOENT' ? 'is not installed, or not in the PATH' : `cannot be started (${code})` }),
  );
  child.once('close', (code, signal) =>
    settle(
      code === 0 ? { output: Buffer.concat(pieces).toString() } : { failure: `ended with ${signal ?? `code ${code}`}` },
    ),
  );
  return promise.finally(callOff);
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
