import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { parseJson } from '../parse-json.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** A cluster, user or context, and the file that it is from. */
export interface Entry {
  readonly name: string;
  readonly file: string;
  readonly fields: Fields;
}

/**
 * The named context, else the current one, with the cluster and user that it names. Of several files, the first that has an
 * entry wins.
 */
export async function selectContext(files: readonly string[], context: string | undefined) {
  const configs = (await Promise.all(files.map(load))).filter((config) => config !== undefined);
  const where = files.join(', ');
  if (configs.length === 0) throw new Error(noneExists(files));
  const find = (what: 'context' | 'cluster' | 'user', name: string): Entry => {
    const entry = configs.flatMap((config) => config[`${what}s`]).find((other) => other.name === name);
    if (!entry) throw new Error(`${where}: there is no ${what} "${name}"`);
    return entry;
  };
  const wanted = context ?? configs.find((config) => config.current)?.current;
  if (!wanted) throw new Error(`${where}: no current-context; name one with --context`);
  const { fields } = find('context', wanted);
  const user = text(fields['user']);
  return {
    context: wanted,
    cluster: find('cluster', text(fields['cluster']) ?? ''),
    user: user ? find('user', user) : undefined,
    namespace: text(fields['namespace']),
  };
}

/** The path in a field; relative to the folder of the kubeconfig. */
export function pathIn({ file, fields }: Entry, field: string): string | undefined {
  const path = text(fields[field]);
  return path && resolve(dirname(file), path);
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

const noneExists = (files: readonly string[]): string =>
  files.length === 1
    ? `${files[0]}: there is no such file; name another with --kubeconfig or $KUBECONFIG`
    : `none of the files in $KUBECONFIG exists: ${files.join(', ')}; correct the variable, or unset it`;

/** Undefined where there is no such file: $KUBECONFIG may name files that do not exist yet. */
async function load(file: string) {
  const source = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return;
    throw new Error(`${file}: cannot be read (${error.code})`, { cause: error });
  });
  if (source === undefined) return;
  const parsed = await parse(source, file);
  const entries = (what: string): Entry[] => {
    const list = parsed[`${what}s`];
    // `cluster: null` is valid YAML.
    return (Array.isArray(list) ? list.filter(isFields) : []).map((entry) => ({
      name: text(entry['name']) ?? '',
      file,
      fields: isFields(entry[what]) ? entry[what] : {},
    }));
  };
  return {
    current: text(parsed['current-context']),
    clusters: entries('cluster'),
    users: entries('user'),
    contexts: entries('context'),
  };
}

/** JSON first: it needs no YAML parser, which is loaded only when it is needed. */
async function parse(source: string, file: string): Promise<Fields> {
  const json = parseJson(source);
  const parsed = json === undefined ? (await import('./yaml.ts')).parseYaml(source) : { value: json };
  if ('wrongAt' in parsed) throw new Error(`${file}: not a kubeconfig: neither YAML nor JSON at ${parsed.wrongAt}`);
  // As for kubectl, an empty file is a kubeconfig without entries.
  const value = parsed.value ?? {};
  if (isFields(value) && !Array.isArray(value)) return value;
  throw new Error(`${file}: not a kubeconfig: expected fields like clusters, users and contexts`);
}

export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;
