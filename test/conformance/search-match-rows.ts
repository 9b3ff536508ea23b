import { DEFAULT_KEYS } from '../../src/api/annotations.ts';

type Notes = Readonly<Record<string, string>>;

/** One case of search and match: who says what about a workload and a source, and whether a change of it reloads. */
export interface Row {
  /** Of the contract, which counts 16 of them; a letter where it has several cases in one. */
  readonly row: string;
  readonly workload: Notes;
  readonly source: Notes;
  /** How the pod template names the source. */
  readonly by: 'env' | 'nothing' | 'imagePullSecrets';
  /** The change is that the source is deleted, with `--reload-on-delete`. */
  readonly isDeleted?: true;
  /** With `--auto-reload-all`. */
  readonly all?: true;
  /** As search and match were described when they were thought of; undefined: nothing is said there. */
  readonly described: boolean | undefined;
  readonly stakater: boolean;
}

const { auto, search, match, ignore } = DEFAULT_KEYS;
const SEARCH = { [search]: 'true' };
const MATCH = { [match]: 'true' };
const LIST = { [DEFAULT_KEYS.named.Secret]: 'keys' };
const OTHER_LIST = { [DEFAULT_KEYS.named.Secret]: 'other' };
const TYPED = { [DEFAULT_KEYS.typedAuto.Secret]: 'true' };
const AUTO = { [auto]: 'true' };
const NEVER = { [auto]: 'false' };

const both = (yes: boolean) => ({ described: yes, stakater: yes });
const silent = (yes: boolean) => ({ described: undefined, stakater: yes });
const used = (row: string, workload: Notes, source: Notes) => ({ row, workload, source, by: 'env' as const });

export const ROWS: readonly Row[] = [
  { ...used('1', SEARCH, MATCH), ...both(true) },
  { ...used('2', SEARCH, { [match]: 'false' }), ...both(false) },
  { ...used('3', SEARCH, {}), ...both(false) },
  { ...used('4', SEARCH, MATCH), by: 'nothing', ...both(false) },
  { ...used('5a', { ...AUTO, ...SEARCH }, {}), ...both(true) },
  { ...used('5b', { ...AUTO, ...SEARCH }, MATCH), ...both(true) },
  { ...used('5c', { ...AUTO, ...SEARCH }, { [match]: 'false' }), ...both(true) },
  { ...used('6', { ...NEVER, ...SEARCH }, MATCH), described: false, stakater: true },
  { ...used('7', {}, MATCH), ...both(false) },
  { ...used('8a', SEARCH, { ...MATCH, [ignore]: 'true' }), ...both(false) },
  { ...used('8b', SEARCH, { ...MATCH, [ignore]: 'true' }), isDeleted: true, ...both(false) },
  { ...used('9', { ...SEARCH, [ignore]: 'true' }, MATCH), ...silent(true) },
  { ...used('10', AUTO, {}), ...both(true) },
  { ...used('11a', { ...NEVER, ...LIST }, {}), described: false, stakater: true },
  { ...used('11b', { ...NEVER, ...TYPED }, {}), described: false, stakater: true },
  { ...used('12', { ...SEARCH, ...OTHER_LIST }, MATCH), ...silent(true) },
  { ...used('13', SEARCH, MATCH), isDeleted: true, ...silent(true) },
  { ...used('14', {}, {}), all: true, ...both(true) },
  { ...used('15', SEARCH, MATCH), by: 'imagePullSecrets', described: true, stakater: false },
  { ...used('16a', { [search]: 'True' }, MATCH), ...silent(false) },
  { ...used('16b', { [search]: '1' }, MATCH), ...silent(false) },
  { ...used('16c', SEARCH, { [match]: 'True' }), ...silent(false) },
  { ...used('16d', { [auto]: 'True' }, {}), ...silent(true) },
];

/** By default what was described counts; where nothing is said there, and under compat, what Stakater does. */
export const reloads = ({ described, stakater }: Row, compat: boolean): boolean =>
  compat ? stakater : (described ?? stakater);
