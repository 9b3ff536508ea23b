import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { environment } from '../../../src/config/load.ts';
import { findBinaries } from '../../../src/sandbox/binaries/binaries.ts';

export const CHART: string = fileURLToPath(new URL('../../../charts/attune', import.meta.url));

/** Whatever a values file may hold. */
export type Values = Readonly<Record<string, unknown>>;

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Record<string, string>;
    readonly annotations?: Record<string, string>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: the tests reach deep into objects of every kind.
  readonly [field: string]: any;
}

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const binary = findBinaries(['helm'], { env: environment() }, () => {});

/** Runs helm; the values, if any, arrive by standard input (`--values -`). */
export async function helm(args: readonly string[], values?: Values): Promise<Finished> {
  const { helm: program } = await binary;
  const child = spawn(program, values ? [...args, '--values', '-'] : args);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  child.stdin.end(values ? JSON.stringify(values) : '');
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  return { code, stdout, stderr };
}

export async function helmOrThrow(args: readonly string[], values?: Values): Promise<string> {
  const { code, stdout, stderr } = await helm(args, values);
  if (code !== 0) throw new Error(`helm ${args.join(' ')}\n${stderr}`);
  return stdout;
}

/** What the chart renders, without a cluster and so without any knowledge of what it has. */
export async function render(values: Values = {}, release = 'shop'): Promise<readonly Manifest[]> {
  const args = ['template', release, CHART, '--namespace', 'tools'];
  return parseAllDocuments(await helmOrThrow(args, values)).flatMap((document) => document.toJS() ?? []);
}

/** Why the chart refuses these values. */
export async function refusal(values: Values): Promise<string> {
  const { code, stderr } = await helm(['template', 'shop', CHART], values);
  if (code === 0) throw new Error('the chart accepted the values');
  return stderr;
}

export function only(manifests: readonly Manifest[], kind: string, name?: string): Manifest {
  const found = manifests.filter((each) => each.kind === kind && (name === undefined || each.metadata.name === name));
  if (found.length !== 1 || !found[0]) throw new Error(`${found.length} × ${kind} ${name ?? ''}`);
  return found[0];
}

/** The one container of the Deployment. */
export const containerOf = (manifests: readonly Manifest[]): Manifest['spec'] =>
  only(manifests, 'Deployment')['spec'].template.spec.containers[0];
