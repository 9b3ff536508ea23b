import { describe, expect, test } from 'vitest';
import type { SourceKind } from '../../src/api/sources.ts';
import { interests } from '../../src/domain/judge/interests.ts';
import { judge } from '../../src/domain/judge/judge.ts';
import { podUsing, policyOf, workloadOf } from './given.ts';

type Expected = 'no' | 'used' | 'explicit';
type Notes = Readonly<Record<string, string>>;

interface Row {
  readonly w?: Notes;
  readonly q?: Notes;
  readonly r?: Notes;
  readonly kind?: SourceKind;
  readonly name?: string;
  readonly all?: boolean;
  readonly expected: Expected;
  /** Where the default mode differs. */
  readonly byDefault?: Expected;
  readonly problems?: number;
}

const AUTO = 'reloader.stakater.com/auto';
const SEARCH = 'reloader.stakater.com/search';
const MATCH = 'reloader.stakater.com/match';
const IGNORE = 'reloader.stakater.com/ignore';
const CM_RELOAD = 'configmap.reloader.stakater.com/reload';
const CM_AUTO = 'configmap.reloader.stakater.com/auto';
const SPC_RELOAD = 'secretproviderclass.reloader.stakater.com/reload';
const CM_EXCLUDE = 'configmaps.exclude.reloader.stakater.com/reload';
const SPC_EXCLUDE = 'secretproviderclasses.exclude.reloader.stakater.com/reload';

const TABLE: readonly Row[] = [
  { expected: 'no' },
  { all: true, expected: 'used' },
  { w: { [AUTO]: 'true' }, expected: 'used' },
  { w: { [AUTO]: 'T' }, expected: 'used' },
  { w: { [AUTO]: '1' }, expected: 'used' },
  { w: { [AUTO]: 'yes' }, all: true, expected: 'no', problems: 1 },
  { w: { [AUTO]: 'false' }, all: true, expected: 'no' },
  { w: { [AUTO]: '' }, all: true, expected: 'used' },
  { w: { [AUTO]: '' }, q: { [AUTO]: 'true' }, expected: 'no' },
  { w: { [AUTO]: 'false', [CM_RELOAD]: 'cm' }, expected: 'explicit', byDefault: 'no' },
  { w: { [AUTO]: 'false', [SEARCH]: 'true' }, r: { [MATCH]: 'true' }, expected: 'used', byDefault: 'no' },
  { w: { [AUTO]: 'false', [CM_AUTO]: 'true' }, expected: 'used', byDefault: 'no' },
  { w: { [AUTO]: 'true', [CM_AUTO]: 'false' }, expected: 'used' },
  { w: { [CM_AUTO]: 'false' }, all: true, expected: 'no' },
  { w: { [CM_AUTO]: 'false' }, kind: 'Secret', all: true, expected: 'used' },
  { w: { [CM_AUTO]: 'true' }, kind: 'Secret', expected: 'no' },
  { w: { [CM_RELOAD]: 'a , b,c' }, name: 'b', expected: 'explicit' },
  { w: { [CM_RELOAD]: 'app-.*' }, name: 'app-cfg-1', expected: 'explicit' },
  { w: { [CM_RELOAD]: 'app-*' }, name: 'app-1', expected: 'no' },
  { w: { [CM_RELOAD]: '*' }, name: 'anything', expected: 'explicit' },
  { w: { [CM_RELOAD]: 'my.config' }, name: 'my-config', expected: 'explicit' },
  { w: { [CM_RELOAD]: 'foo|bar' }, name: 'foo-xyz', expected: 'explicit' },
  { w: { [CM_RELOAD]: 'foo|bar' }, name: 'xyz-bar', expected: 'explicit' },
  { w: { [CM_RELOAD]: 'cm' }, name: 'xcm', expected: 'no' },
  { w: { [CM_RELOAD]: 'bad[,cm' }, expected: 'explicit', problems: 1 },
  { w: { [CM_RELOAD]: 'cm[' }, expected: 'no', problems: 1 },
  { w: { [CM_RELOAD]: 'other', [AUTO]: 'true' }, expected: 'used' },
  { w: { [CM_RELOAD]: 'other' }, all: true, expected: 'used' },
  { w: { [CM_RELOAD]: 'ns/cm' }, expected: 'no' },
  { w: { [SEARCH]: 'true' }, r: { [MATCH]: 'true' }, expected: 'used' },
  { w: { [SEARCH]: 'true' }, expected: 'no' },
  { w: { [SEARCH]: 'true' }, all: true, expected: 'used' },
  { w: { [SEARCH]: 'True' }, r: { [MATCH]: 'true' }, expected: 'no', problems: 1 },
  { w: { [SEARCH]: 'true' }, r: { [MATCH]: '1' }, expected: 'no' },
  { w: { [AUTO]: 'true' }, r: { [IGNORE]: 'true' }, expected: 'no' },
  { w: { [CM_RELOAD]: 'cm' }, r: { [IGNORE]: 'true' }, expected: 'no' },
  { w: { [AUTO]: 'true' }, r: { [IGNORE]: 'True' }, expected: 'used' },
  { w: { [AUTO]: 'true', [IGNORE]: 'true' }, expected: 'used' },
  { w: { [AUTO]: 'true', [CM_EXCLUDE]: 'x, cm' }, expected: 'no' },
  { w: { [CM_RELOAD]: 'cm', [CM_EXCLUDE]: 'cm' }, expected: 'no' },
  { w: { [AUTO]: 'true', [CM_EXCLUDE]: 'cm-.*' }, name: 'cm-1', expected: 'used' },
  { q: { [AUTO]: 'true', [CM_EXCLUDE]: 'cm' }, expected: 'used' },
  { w: { [CM_EXCLUDE]: 'cm' }, q: { [AUTO]: 'true' }, expected: 'no' },
  { w: { [AUTO]: 'true', [CM_EXCLUDE]: 'x' }, kind: 'Secret', name: 'x', expected: 'used' },
  { w: { [SEARCH]: 'false' }, q: { [AUTO]: 'true' }, expected: 'no' },
  { w: { [CM_RELOAD]: 'zzz' }, q: { [AUTO]: 'true' }, expected: 'no' },
  { w: { [CM_RELOAD]: 'zzz' }, q: { [AUTO]: 'true' }, kind: 'Secret', name: 's', expected: 'used' },
  { q: { [SEARCH]: 'true' }, r: { [MATCH]: 'true' }, expected: 'used' },
  { w: { [AUTO]: 'true' }, kind: 'SecretProviderClass', name: 'spc', expected: 'used' },
  { w: { [SPC_RELOAD]: 'spc' }, kind: 'SecretProviderClass', name: 'spc', expected: 'explicit' },
  { w: { [AUTO]: 'true', [SPC_EXCLUDE]: 'spc' }, kind: 'SecretProviderClass', name: 'spc', expected: 'no' },
  { kind: 'SecretProviderClass', name: '', expected: 'explicit', byDefault: 'no' },
];

const short = (notes: Notes = {}): string =>
  Object.entries(notes)
    .map(([key, value]) => `${key.replace('reloader.stakater.com', '')}=${value}`)
    .join(' ') || '-';

const CASES = TABLE.map((row) => ({
  ...row,
  title: `W ${short(row.w)} | Q ${short(row.q)} | R ${short(row.r)} | ${row.kind ?? 'ConfigMap'} ${row.name ?? 'cm'}${row.all ? ' | all' : ''}`,
}));

function outcome(row: Row, compat: boolean, isUsed: boolean): string {
  const { kind = 'ConfigMap', name = 'cm', r = {} } = row;
  const workload = workloadOf({
    metadata: row.w,
    template: row.q,
    compat,
    ...(isUsed ? { pod: podUsing(kind, name) } : {}),
  });
  const policy = policyOf({ compat, autoReloadAll: row.all ?? false });
  const source = { ref: { kind, name }, ignored: r[IGNORE] === 'true', matchable: r[MATCH] === 'true' };
  const verdict = judge(workload, source, policy);
  if (verdict.reload) {
    const asked = interests(workload, policy);
    const found =
      asked.literal.some((ref) => ref.kind === kind && ref.name === name) ||
      asked.patterns.some((entry) => entry.kind === kind && entry.pattern?.matches?.(name));
    expect(found, 'a source that may roll must be in the reverse index').toBe(true);
  }
  return verdict.reload ? verdict.because : 'no';
}

describe.each([
  { mode: 'compat', compat: true },
  { mode: 'default', compat: false },
])('$mode', ({ compat }) => {
  test.each(CASES)('$title', (row) => {
    const expected = compat ? row.expected : (row.byDefault ?? row.expected);
    const unused = outcome(row, compat, false);
    const used = row.name === '' ? unused : outcome(row, compat, true);
    switch (expected) {
      case 'no':
        expect([used, unused]).toEqual(['no', 'no']);
        break;
      case 'explicit':
        expect([used, unused]).toEqual(['named', 'named']);
        break;
      case 'used':
        expect(unused).toBe('no');
        expect(['auto', 'typed-auto', 'search-match', 'auto-reload-all']).toContain(used);
        break;
    }
    const { problems } = workloadOf({ metadata: row.w, template: row.q }).intent;
    // A slip is told beside the contract: it is no value that cannot be read.
    expect(problems.filter(({ isSlip }) => !isSlip)).toHaveLength(row.problems ?? 0);
  });
});
