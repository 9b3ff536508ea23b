import { isIP } from 'node:net';
import { isSubdomain } from '../domain/text/subdomain.ts';
import type { CommandLine } from './command-line.ts';
import { quote } from './diagnostics.ts';
import { AGENT_OPTIONS, type AgentValues } from './options/agent.ts';
import type { Listen } from './options/option.ts';
import { type Environment, readOptions } from './options/option-table.ts';
import { isNamespaceName } from './watched-namespaces.ts';

/** What flags and environment say about an agent for Redis, checked; `src/agent` takes it as its own settings. */
export interface AgentSettings
  extends Pick<AgentValues, 'mode' | 'redisServer' | 'logFormat' | 'logLevel' | 'kubeconfig' | 'context'> {
  readonly clusterName: string;
  readonly podName: string;
  readonly podNamespace: string;
  /** '': not known. */
  readonly podIp: string;
  readonly strict: boolean;
  readonly paths: ReturnType<typeof pathsOf>;
  readonly redisAddress: Listen;
  /** '': all interfaces. */
  readonly bindAddress: string;
  readonly listen: Listen;
  readonly stopTimeoutMs: number;
  readonly resyncMs: number;
  readonly statusIntervalMs: number;
}

/** `help` may come with problems: then the problems are what the caller has to answer. */
export type ParsedAgentSettings =
  | { readonly ok: true; readonly settings: AgentSettings }
  | { readonly ok: false; readonly problems: readonly string[]; readonly help: boolean };

/** The settings of `attune agent redis`; never throws, and tells all problems at once. */
export function parseAgentSettings(argv: readonly string[], env: Environment): ParsedAgentSettings {
  const { values, commandLine, diagnostics } = readOptions(AGENT_OPTIONS, argv, env);
  const { problems } = diagnostics;
  if (commandLine.help) return { ok: false, problems, help: true };
  problems.push(...wordsWithoutFlag(commandLine));
  const settings = toAgentSettings(values, env, problems);
  return problems.length > 0 ? { ok: false, problems, help: false } : { ok: true, settings };
}

/** A word may be a credential whose flag is missing: it is not repeated. */
const wordsWithoutFlag = ({ positional }: CommandLine): readonly string[] =>
  positional.length > 0 ? ['only flags are understood after `attune agent redis`; a value follows its flag'] : [];

function toAgentSettings(values: AgentValues, env: Environment, problems: string[]): AgentSettings {
  const named = namesOf(values, env, problems);
  checkRole(values.role, problems);
  const podIp = values.podIp.trim();
  if (podIp !== '' && isIP(podIp) === 0) problems.push(`POD_IP must be an IP address, not ${quote(podIp)}`);
  const bindAddress = values.listenAddress.trim();
  if (/\s/.test(bindAddress)) problems.push(`ATTUNE_LISTEN_ADDRESS must be one host, not ${quote(bindAddress)}`);
  if (values.redisAddress.port === 0) problems.push('--redis-address must name a port from 1 to 65535');
  return {
    ...named,
    podIp,
    mode: values.mode,
    strict: values.compat === 'strict',
    paths: pathsOf(values, problems),
    redisServer: programOf(values.redisServer, problems),
    redisAddress: { ...values.redisAddress, host: values.redisAddress.host || '127.0.0.1' },
    bindAddress,
    listen: { ...values.listen, host: values.listen.host || bindAddress },
    stopTimeoutMs: checkedTime('stopTimeout', values, problems),
    resyncMs: checkedTime('resync', values, problems),
    statusIntervalMs: checkedTime('statusInterval', values, problems),
    logFormat: values.logFormat,
    logLevel: values.logLevel,
    kubeconfig: values.kubeconfig,
    context: values.context,
  };
}

/** An empty flag leaves it to the variable. */
function namesOf(values: AgentValues, env: Environment, problems: string[]) {
  const nameOf = (key: 'clusterName' | 'podName' | 'podNamespace', isName: (text: string) => boolean): string => {
    const { flag, env: variable = '' } = AGENT_OPTIONS[key];
    const name = values[key].trim() || (env[variable] ?? '').trim();
    if (name === '') problems.push(`--${flag}, or the variable ${variable}, is missing`);
    else if (!isName(name)) problems.push(`--${flag} must be a name as Kubernetes has them, not ${quote(name)}`);
    return name;
  };
  return {
    clusterName: nameOf('clusterName', isSubdomain),
    podName: nameOf('podName', isSubdomain),
    podNamespace: nameOf('podNamespace', isNamespaceName),
  };
}

function checkRole(role: string, problems: string[]): void {
  if (role === 'sentinel') {
    problems.push(
      '--role=sentinel is not supported: a Sentinel keeps its settings itself, and rewrites its own file; run ' +
        'redis-sentinel without an agent. The role of a Redis is data',
    );
  } else if (role !== 'data') {
    problems.push(`--role must be data, not ${quote(role)}`);
  }
}

/** What a unix socket's address holds. */
const LONGEST_SOCKET = 107;

function pathsOf(values: AgentValues, problems: string[]) {
  const folder = (key: 'dataDir' | 'secretsDir' | 'aclFile' | 'tlsDir' | 'stateDir' | 'socket', usual: string) => {
    const given = values[key];
    // Redis runs in its data folder: there a relative path would lead somewhere else.
    if (given !== '' && (!given.startsWith('/') || given.includes('\0'))) {
      problems.push(`--${AGENT_OPTIONS[key].flag} must be a path that begins with /, not ${quote(given)}`);
    }
    return (given || usual).replace(/(?<=.)\/+$/, '');
  };
  const dataDir = folder('dataDir', '/data');
  const stateDir = folder('stateDir', `${dataDir}/.attune`);
  const paths = {
    dataDir,
    stateDir,
    secretsDir: folder('secretsDir', '/projected'),
    tlsDir: folder('tlsDir', '/tls'),
    aclFile: folder('aclFile', `${dataDir}/users.acl`),
    socket: folder('socket', values.mode === 'parent' ? `${stateDir}/redis.sock` : ''),
  };
  if (Buffer.byteLength(paths.socket) > LONGEST_SOCKET) {
    problems.push(
      `the path of the unix socket may have ${LONGEST_SOCKET} bytes: name a shorter one with --socket, not ` +
        quote(paths.socket),
    );
  }
  return paths;
}

function programOf(program: string, problems: string[]): string {
  const isRelative = program.includes('/') && !program.startsWith('/');
  if (program === '' || isRelative || program.includes('\0')) {
    problems.push(`--redis-server must be the name of a program, or a path that begins with /, not ${quote(program)}`);
  }
  return program;
}

// Longer than anybody means, and short enough for a timer.
const LONGEST_MS = 24 * 3_600_000;

function checkedTime(
  key: 'stopTimeout' | 'resync' | 'statusInterval',
  values: AgentValues,
  problems: string[],
): number {
  const ms = Math.round(values[key]);
  if (ms < 1 || ms > LONGEST_MS) problems.push(`--${AGENT_OPTIONS[key].flag} must be more than 0 and at most 24h`);
  return ms;
}
