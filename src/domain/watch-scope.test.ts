import { describe, expect, it } from 'vitest';
import type { KindName } from '../api/kinds.ts';
import type { SourceKind } from '../api/sources.ts';
import { parseSettings } from '../config/parse-settings.ts';
import { notWatchedBecause, sourceNotWatchedBecause } from './watch-scope.ts';

function settings(...argv: string[]) {
  const parsed = parseSettings(argv, {});
  if (!parsed.ok) throw new Error(parsed.problems.join());
  return parsed.settings;
}

const workload = (argv: string[], kind: KindName = 'Deployment', labels = {}) =>
  notWatchedBecause({ kind, namespace: 'shop' }, labels, settings(...argv)).map(({ cure }) => cure);

const source = (argv: string[], kind: SourceKind = 'ConfigMap', labels = {}) =>
  sourceNotWatchedBecause({ kind, namespace: 'shop', name: 'app' }, labels, settings(...argv)).map(({ cure }) => cure);

describe('what keeps the controller from seeing a workload, and what would let it', () => {
  it.each<[string[], string[], KindName?]>([
    [[], []],
    [['--namespaces=shop'], []],
    [['--namespaces=blog'], ['add shop to --namespaces']],
    [['--namespaces-to-ignore=shop'], ['take shop out of --namespaces-to-ignore']],
    [['--namespace-selector=team=a'], ['give namespace shop labels that match team=a']],
    [['--webhook-url=http://example.com'], ['remove --webhook-url']],
    [[], ['set --is-Argo-Rollouts=true'], 'Rollout'],
    [['--is-Argo-Rollouts=true'], [], 'Rollout'],
    [['--compat=stakater'], ['remove --compat=stakater'], 'DeploymentConfig'],
    [
      ['--namespaces-to-ignore=shop', '--namespace-selector=team=a', '--webhook-url=http://example.com'],
      [
        'remove --webhook-url',
        'take shop out of --namespaces-to-ignore',
        'give namespace shop labels that match team=a',
      ],
    ],
  ])('%j: %s', (argv, cure, kind) => expect(workload(argv, kind)).toEqual(cure));

  it('labels of the namespace decide, and nobody knows them without the right to read', () => {
    expect(workload(['--namespace-selector=team=a'], 'Deployment', { team: 'a' })).toEqual([]);
    expect(
      notWatchedBecause({ kind: 'Deployment', namespace: 'shop' }, undefined, settings('--namespace-selector=team=a')),
    ).toEqual([]);
  });
});

describe('what keeps it from seeing a source', () => {
  it.each<[string[], string[], SourceKind?]>([
    [[], []],
    [['--resources-to-ignore=configmaps'], ['remove --resources-to-ignore=configmaps']],
    [['--resources-to-ignore=configmaps'], [], 'Secret'],
    [['--resource-label-selector=reload=yes'], ['give ConfigMap app labels that match reload=yes']],
    [[], ['set --enable-csi-integration'], 'SecretProviderClass'],
    [['--enable-csi-integration'], [], 'SecretProviderClass'],
  ])('%j: %s', (argv, cure, kind) => expect(source(argv, kind)).toEqual(cure));

  it('its labels decide', () => {
    expect(source(['--resource-label-selector=reload=yes'], 'Secret', { reload: 'yes' })).toEqual([]);
  });
});

it('the Secrets in which Helm keeps its releases are seen only where that is asked for', () => {
  const cures = (name: string, ...argv: string[]) =>
    sourceNotWatchedBecause({ kind: 'Secret', namespace: 'shop', name }, {}, settings(...argv)).map(({ cure }) => cure);
  expect(cures('sh.helm.release.v1.app.v1')).toEqual(['set --watch-helm-secrets=true']);
  expect(cures('sh.helm.release.v1.app.v1', '--watch-helm-secrets=true')).toEqual([]);
  expect(cures('app')).toEqual([]);
});
