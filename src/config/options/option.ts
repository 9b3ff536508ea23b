import { parseDuration } from '../../domain/text/duration.ts';
import { parseBool } from '../../domain/text/parse-bool.ts';
import { parseCsvRecord } from './csv-record.ts';

export const GROUPS = {
  scope: 'What is watched',
  choice: 'What is reloaded',
  effect: 'How and when it is reloaded',
  keys: 'Annotation keys',
  reloaderConfig: 'ReloaderConfigs',
  admission: 'What other writers cannot undo',
  output: 'What it tells you',
  process: 'How it runs',
} as const;

export type Group = keyof typeof GROUPS;

/** The same for agents. */
export const AGENT_GROUPS = {
  agentWho: 'Whose Redis it is',
  agentHow: 'How it is run',
  agentPaths: 'Where things are',
  agentTimes: 'How often, and how long',
  agentOutput: 'What it tells you',
  agentCluster: 'How the API server is reached',
} as const;

export type AgentGroup = keyof typeof AGENT_GROUPS;

/** A value, or what would have been right: "must be …, not …". */
type Parsed<T> = { readonly value: T } | { readonly must: string; readonly not: string };

/** One setting as it is written down: what it is called, and what `--help` and the docs say about it. */
interface Row {
  /** Without the dashes; undefined: the environment alone sets it. */
  readonly flag?: string;
  /** The flag, if there is one, beats the variable. */
  readonly env?: string;
  /** As one would type it. */
  readonly fallback?: string;
  readonly doc: string;
  /** May hold a credential: messages leave its value out. */
  readonly sensitive?: true;
  /** About this process on its machine, as how it reaches the cluster: not published. */
  readonly local?: true;
}

/** A row, with how its value is read. */
export interface Option<T> extends Row {
  readonly fallback: string;
  /** Where it is listed; set by `inGroup`. */
  readonly group?: Group | AgentGroup;
  readonly type: 'bool' | 'string' | 'strings' | 'duration' | 'int';
  /** Takes every value given, in order: for lists they add up, otherwise the last one counts. None: the fallback. */
  readonly parse: (texts: readonly string[]) => Parsed<T>;
}

/** These rows as one section of `--help` and docs/flags.md. */
export const inGroup = <Rows extends Readonly<Record<string, Option<unknown>>>>(
  group: Group | AgentGroup,
  rows: Rows,
): Rows => Object.fromEntries(Object.entries(rows).map(([name, row]) => [name, { ...row, group }])) as Rows;

/** A real boolean of pflag: bare, or with one of Go's spellings. */
export const bool = (row: Row): Option<boolean> =>
  scalar('bool', { fallback: 'false', ...row }, (given) => {
    const value = parseBool(given);
    return value === undefined ? { must: 'be true or false', not: given } : { value };
  });

/** Stakater's string-typed booleans: exactly `true` switches on, everything else is off, and a bare flag is an error. */
export const exactlyTrue = (row: Row): Option<boolean> => exactly('true', { fallback: 'false', ...row });

export const exactly = (word: string, row: Row): Option<boolean> =>
  scalar('string', row, (given) => ({ value: given === word }));

export const text = (row: Row): Option<string> => scalar('string', row, (value) => ({ value }));

/** Text that makes a difference by its presence, even when empty. */
export const textIfPresent = (row: Row): Option<string | undefined> => ({
  fallback: '',
  ...row,
  type: 'string',
  parse: (texts) => ({ value: texts.at(-1) }),
});

export const oneOf = <const T extends string>(words: readonly T[], row: Row): Option<T> =>
  scalar('string', row, (given) => {
    const value = words.find((word) => word === given);
    const named = words.filter((word) => word !== '');
    const must = named.length > 1 ? `one of ${named.join(', ')}` : `${named.join()} or empty`;
    return value === undefined ? { must: `be ${must}`, not: given } : { value };
  });

/** Any of these words, in any order; an empty one is none. */
export const someOf = <const T extends string>(words: readonly T[], row: Row): Option<ReadonlySet<T>> => {
  const list = strings(row);
  return {
    ...list,
    parse: (texts) => {
      const parsed = list.parse(texts);
      if ('must' in parsed) return parsed;
      const given = parsed.value.map((word) => word.trim()).filter((word) => word !== '');
      const wrong = given.find((word) => !words.some((known) => known === word));
      if (wrong !== undefined) return { must: `be a list of ${words.join(', ')}`, not: wrong };
      return { value: new Set(words.filter((word) => given.includes(word))) };
    },
  };
};

/** Where a server listens, as Go writes it: `:9443`, `127.0.0.1:9443`, `[::1]:9443`. */
export interface Listen {
  /** '': all interfaces. */
  readonly host: string;
  readonly port: number;
}

/** The fallback is the example, too. */
export const listen = (row: Row & { readonly fallback: string }): Option<Listen> =>
  scalar('string', row, (given) => {
    const [, bracketed, host = bracketed ?? '', port = ''] = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(given) ?? [];
    return port === '' || Number(port) > 65_535
      ? { must: `be host:port or :port, like ${row.fallback}`, not: given }
      : { value: { host, port: Number(port) } };
  });

/** Milliseconds, in Go's grammar. */
export const duration = (row: Row): Option<number> =>
  scalar('duration', row, (given) => {
    const value = parseDuration(given);
    return value === undefined || value < 0 ? { must: 'be a duration like 1s, 500ms or 1h30m', not: given } : { value };
  });

export const count = (row: Row): Option<number> =>
  scalar('int', row, (given) => {
    const value = /^\d{1,6}$/.test(given) ? Number(given) : 0;
    return value < 1 ? { must: 'be a whole number from 1 to 999999', not: given } : { value };
  });

/** An http(s) address, or nothing. */
export const httpUrl = (row: Row): Option<string> =>
  scalar('string', row, (given) => {
    const value = given.trim();
    return value === '' || isHttpUrl(value) ? { value } : { must: 'be an http or https URL', not: given };
  });

/** An https address without a user, a query or a fragment, as the API server takes it for a webhook, or nothing. */
export const httpsUrl = (row: Row): Option<string> =>
  scalar('string', row, (given) => {
    const url = URL.parse(given.trim());
    const isPlain = url?.protocol === 'https:' && url.username === '' && url.search === '' && url.hash === '';
    if (given.trim() === '' || isPlain) return { value: given.trim().replace(/\/$/, '') };
    return { must: 'be an https URL without user, query or fragment', not: given };
  });

export const isHttpUrl = (value: string): boolean => /^https?:$/.test(URL.parse(value)?.protocol ?? '');

/** A string slice of pflag: each value is a CSV record, and the records add up. */
export const strings = (row: Row): Option<readonly string[]> => ({
  fallback: '',
  ...row,
  type: 'strings',
  parse: (texts) => {
    const value: string[] = [];
    for (const given of texts) {
      const record = parseCsvRecord(given);
      if (!record) return { must: 'be a comma-separated list whose double quotes enclose whole elements', not: given };
      value.push(...record);
    }
    return { value };
  },
});

/** Earlier values must be valid too, as with pflag, but only the last one counts. */
function scalar<T>(type: Option<T>['type'], row: Row, parse: (given: string) => Parsed<T>): Option<T> {
  return {
    fallback: '',
    ...row,
    type,
    parse: (texts) => {
      const parsed = texts.map(parse);
      return parsed.find((each) => 'must' in each) ?? parsed.at(-1) ?? parse(row.fallback ?? '');
    },
  };
}
