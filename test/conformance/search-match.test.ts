import { describe, expect, test } from 'vitest';
import { DEFAULT_KEYS } from '../../src/api/annotations.ts';
import type { SourceRef } from '../../src/api/sources.ts';
import { judge } from '../../src/domain/judge/judge.ts';
import type { Verdict } from '../../src/domain/judge/verdict.ts';
import { compare } from '../../src/domain/ledger/applied.ts';
import { createObjectParser } from '../../src/model/object-parser.ts';
import { SourceHistory } from '../../src/model/sources/source-history.ts';
import { digest, podUsing, policyOf, workloadOf } from './given.ts';
import { ROWS, type Row, reloads } from './search-match-rows.ts';

const REF: SourceRef = { kind: 'Secret', namespace: 'shop', name: 'keys' };
const IDLE = { name: 'idle' };

/** Two containers of which the second uses the source, if one does. */
function podOf({ by }: Row): Readonly<Record<string, unknown>> {
  const user = podUsing(REF.kind, REF.name)['containers'] as readonly object[];
  if (by === 'env') return { containers: [IDLE, ...user] };
  const pod = { containers: [IDLE, { name: 'app' }] };
  return by === 'nothing' ? pod : { ...pod, imagePullSecrets: [{ name: REF.name }] };
}

/** The source is seen, and deleted if the row says so: what the rules know of it then is what is left of it. */
function verdictOn(row: Row, compat: boolean): Verdict {
  const parser = createObjectParser({ keys: DEFAULT_KEYS, compat, sapCompat: false, digest });
  const { namespace, name } = REF;
  const metadata = { namespace, name, uid: 'u', resourceVersion: '7', annotations: row.source };
  const sources = new SourceHistory();
  sources.put(parser.source(REF.kind, { apiVersion: 'v1', kind: REF.kind, metadata }, true, undefined), true);
  if (row.isDeleted) sources.remove(REF, 8);
  const workload = workloadOf({ metadata: row.workload, pod: podOf(row), compat });
  return judge(workload, { ref: REF, ...sources.flags(REF) }, policyOf({ compat, autoReloadAll: row.all ?? false }));
}

describe.each([false, true])('compat: %s', (compat) => {
  test.each(ROWS)('$row: workload $workload, source $source, used by $by', (row) => {
    expect(verdictOn(row, compat).reload).toBe(reloads(row, compat));
  });

  test('a deleted source is a change like any other, with --reload-on-delete', () => {
    expect(compare('v1', '-', { compat, reloadOnCreate: false, reloadOnDelete: true })).toBe('deleted');
  });
});

test('what stands for the whole pod is marked in its first container', () => {
  const containers = ROWS.flatMap((row) => {
    const verdict = verdictOn(row, false);
    return verdict.reload ? [[row.by, verdict.container]] : [];
  });
  expect(new Set(containers.map(String))).toEqual(new Set(['env,1', 'imagePullSecrets,0']));
});

test('every row of the contract is there', () => {
  const numbers = new Set(ROWS.map(({ row }) => Number.parseInt(row, 10)));
  expect([...numbers]).toEqual(Array.from({ length: 16 }, (_, at) => at + 1));
});
