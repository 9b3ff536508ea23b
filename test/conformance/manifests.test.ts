import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { crd } from '../../src/api/reloader-config/crd.ts';
import { RELOADER_CONFIGS } from '../../src/api/resources.ts';
import { INFO_NAME } from '../../src/cli/info/attune-info.ts';
import { MAX_SHARDS } from '../../src/model/ledger/shard.ts';

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly rules?: readonly Rule[];
  readonly roleRef?: { readonly name: string };
  readonly subjects?: readonly { readonly name: string }[];
}

const manifests = parseAllDocuments(readFileSync(new URL('../../deploy/attune.yaml', import.meta.url), 'utf8')).map(
  (document) => document.toJS() as Manifest,
);
const rulesOf = (name: string | undefined, of = 'Role'): readonly Rule[] =>
  manifests.find(({ kind, metadata }) => kind === of && metadata.name === name)?.rules ?? [];

it('the Role names every shard that the ledger may grow to, and no other', () => {
  const rules = manifests.flatMap((each) => each.rules ?? []);
  const shards = rules.flatMap(({ resourceNames = [] }) =>
    resourceNames.filter((name) => /^attune-ledger-\d/.test(name)),
  );
  expect(shards).toEqual(Array.from({ length: MAX_SHARDS }, (_, n) => `attune-ledger-${n}`));
});

it('everybody may read what a controller tells of itself, and nothing else; the controller may write it', () => {
  const forEverybody = manifests.filter(({ subjects = [] }) => subjects.some(({ name }) => name.startsWith('system:')));
  expect(forEverybody.map(({ kind, subjects }) => [kind, subjects?.map(({ name }) => name)])).toEqual([
    ['RoleBinding', ['system:authenticated']],
  ]);
  expect(rulesOf(forEverybody[0]?.roleRef?.name)).toEqual([
    { apiGroups: [''], resources: ['configmaps'], resourceNames: [INFO_NAME], verbs: ['get'] },
  ]);
  const verbs = rulesOf('attune-own')
    .filter(
      ({ resources, resourceNames = [INFO_NAME] }) =>
        resources[0] === 'configmaps' && resourceNames.includes(INFO_NAME),
    )
    .flatMap((rule) => rule.verbs);
  expect(verbs.toSorted()).toEqual(['create', 'get', 'update']);
});

it('ReloaderConfigs may be followed and their status written, by the names that they have in the program; no pod is touched', () => {
  const { group, plural } = RELOADER_CONFIGS;
  const rules = rulesOf('attune-role', 'ClusterRole');
  expect(rules.filter(({ apiGroups }) => apiGroups.includes(group))).toEqual([
    { apiGroups: [group], resources: [plural], verbs: ['list', 'watch'] },
    { apiGroups: [group], resources: [`${plural}/status`], verbs: ['patch'] },
  ]);
  expect(rules.flatMap(({ resources }) => resources).filter((resource) => /^pods/.test(resource))).toEqual([]);
});
it.each(['deploy/reloaderconfigs-crd.yaml', 'charts/attune/crds/reloaderconfigs.yaml'])(
  '%s is the definition that the program has (node scripts/manifests.mjs)',
  (file) => {
    expect(parse(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'))).toEqual(crd());
  },
);
