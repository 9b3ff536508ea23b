import { availableParallelism, totalmem } from 'node:os';
import type { KeyRef, Pod, PodContainer, PodVariable, ResourceRef } from './pod.ts';

/** Reads the decoded data of a ConfigMap or Secret; undefined if there is no such object. */
export type ReadData = (kind: 'ConfigMap' | 'Secret', name: string) => Promise<Record<string, string> | undefined>;

/** A container cannot be started until its configuration exists; the message is that of the kubelet. */
export class ContainerConfigError extends Error {}

/** The environment of a container as in its spec; throws ContainerConfigError while something named in it is missing. */
export async function podEnvironment(
  pod: Pod,
  container: PodContainer,
  podIP: string,
  read: ReadData,
): Promise<Record<string, string>> {
  const context: Context = { pod, container, podIP, read };
  const result = await variablesFromObjects(context);
  for (const variable of container.env ?? []) {
    const value = await variableOf(variable, context);
    if (value !== undefined) result[variable.name] = expand(value, result);
  }
  return result;
}

async function variablesFromObjects({ container, read }: Context): Promise<Record<string, string>> {
  const result: Record<string, string> = {};
  for (const { prefix = '', configMapRef, secretRef } of container.envFrom ?? []) {
    const ref = configMapRef ?? secretRef;
    if (!ref) continue;
    const data = await read(configMapRef ? 'ConfigMap' : 'Secret', ref.name);
    if (!data && !ref.optional) throw new ContainerConfigError(`"${ref.name}" not found`);
    for (const [key, value] of Object.entries(data ?? {})) result[`${prefix}${key}`] = value;
  }
  return result;
}

/** $(NAME) becomes the value of the variable, $$(NAME) becomes the text $(NAME); an unknown $(NAME) stays as it is. */
export function expand(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replace(/\$(\$)?\(([^()\s]+)\)/g, (whole, escaped: string | undefined, name: string) => {
    return escaped ? whole.slice(1) : (variables[name] ?? whole);
  });
}

interface Context {
  readonly pod: Pod;
  readonly container: PodContainer;
  readonly podIP: string;
  readonly read: ReadData;
}

async function variableOf(variable: PodVariable, context: Context): Promise<string | undefined> {
  const from = variable.valueFrom;
  if (!from) return variable.value ?? '';
  if (from.fieldRef) return fieldOf(context, from.fieldRef.fieldPath);
  if (from.resourceFieldRef) return resourceOf(context, from.resourceFieldRef);
  if (from.secretKeyRef) return await keyOf(context, 'Secret', from.secretKeyRef);
  if (from.configMapKeyRef) return await keyOf(context, 'ConfigMap', from.configMapKeyRef);
  return undefined;
}

async function keyOf({ read }: Context, kind: 'ConfigMap' | 'Secret', ref: KeyRef): Promise<string | undefined> {
  const data = await read(kind, ref.name);
  const value = data?.[ref.key];
  if (value !== undefined || ref.optional) return value;
  throw new ContainerConfigError(
    data ? `couldn't find key ${ref.key} in ${kind} ${ref.name}` : `"${ref.name}" not found`,
  );
}

function fieldOf({ pod, podIP }: Context, path: string): string {
  const { metadata, spec } = pod;
  const indexed = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path);
  if (indexed?.[1] && indexed[2]) return metadata[indexed[1] as 'labels' | 'annotations']?.[indexed[2]] ?? '';
  const fields: Readonly<Record<string, string | undefined>> = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace,
    'metadata.uid': metadata.uid,
    'spec.nodeName': spec.nodeName,
    'spec.serviceAccountName': spec.serviceAccountName,
    'status.podIP': podIP,
    'status.podIPs': podIP,
    'status.hostIP': '127.0.0.1',
    'status.hostIPs': '127.0.0.1',
  };
  return fields[path] ?? '';
}

/** As in the kubelet: in units of the divisor, rounded up; without a limit the machine's own size is the limit. */
function resourceOf({ container }: Context, { resource, divisor = '1' }: ResourceRef): string {
  const [kind = '', name = ''] = resource.split('.', 2);
  const given = container.resources?.[kind as 'limits' | 'requests']?.[name];
  const machine: Readonly<Record<string, number>> = { cpu: availableParallelism(), memory: totalmem() };
  const amount = given === undefined ? (kind === 'limits' ? (machine[name] ?? 0) : 0) : parseQuantity(given);
  const unit = parseQuantity(divisor === '0' ? '1' : divisor);
  return String(Math.ceil(amount / unit));
}

const DECIMAL = { n: 1e-9, u: 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12 };
const BINARY = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 };
const SUFFIXES: Readonly<Record<string, number>> = { ...DECIMAL, ...BINARY };

/** A Kubernetes quantity as a number. The API server has accepted it, so it is well formed. */
export function parseQuantity(text: string): number {
  const [, digits = '0', suffix = ''] = /^([0-9.eE+-]+?)([numkMGT]i?)?$/.exec(text) ?? [];
  return Number(digits) * (SUFFIXES[suffix] ?? 1);
}
