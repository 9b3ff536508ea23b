import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { MAX_SHARDS } from '../../src/controller/checkpoint.ts';

interface Rule {
  readonly resourceNames?: readonly string[];
}

it('the Role names every shard that the ledger may grow to, and no other', () => {
  const text = readFileSync(new URL('../../deploy/attune.yaml', import.meta.url), 'utf8');
  const rules = parseAllDocuments(text).flatMap((document) => (document.toJS()?.rules ?? []) as Rule[]);
  const shards = rules.flatMap(({ resourceNames = [] }) =>
    resourceNames.filter((name) => /^attune-ledger-\d/.test(name)),
  );
  expect(shards).toEqual(Array.from({ length: MAX_SHARDS }, (_, n) => `attune-ledger-${n}`));
});
