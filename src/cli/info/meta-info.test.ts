import { expect, test } from 'vitest';
import { parseSettings } from '../../config/parse-settings.ts';
import { VERSION } from '../version.ts';
import { metaInfo } from './meta-info.ts';

function settingsFor(...argv: string[]) {
  const parsed = parseSettings(argv, { RELOADER_NAMESPACE: 'tools', RELOADER_DEPLOYMENT_NAME: 'attune' });
  if (!parsed.ok) throw new Error(parsed.problems.join());
  return parsed.settings;
}

const infoFor = (...argv: string[]) => metaInfo(settingsFor(...argv));

test('build and deployment', () => {
  const info = infoFor();
  expect(Object.keys(info)).toEqual(['buildInfo', 'reloaderOptions', 'deploymentInfo']);
  expect(info.buildInfo).toBe(
    `{"goVersion":"node ${process.version}","releaseVersion":"${VERSION}","commitHash":"","commitTime":"0001-01-01T00:00:00Z","edition":"oss"}`,
  );
  expect(info.deploymentInfo).toBe('{"name":"attune","namespace":"tools"}');
});

test("Stakater's option names, in its order", () => {
  expect(Object.keys(JSON.parse(infoFor().reloaderOptions))).toEqual(
    (
      'autoReloadAll, configmapUpdateOnChangeAnnotation, secretUpdateOnChangeAnnotation, ' +
      'secretProviderClassUpdateOnChangeAnnotation, reloaderAutoAnnotation, ignoreResourceAnnotation, ' +
      'configmapReloaderAutoAnnotation, secretReloaderAutoAnnotation, secretProviderClassReloaderAutoAnnotation, ' +
      'configmapExcludeReloaderAnnotation, secretExcludeReloaderAnnotation, ' +
      'secretProviderClassExcludeReloaderAnnotation, autoSearchAnnotation, searchMatchAnnotation, ' +
      'rolloutStrategyAnnotation, pauseDeploymentAnnotation, pauseDeploymentTimeAnnotation, logFormat, logLevel, ' +
      'isArgoRollouts, reloadStrategy, reloadOnCreate, reloadOnDelete, syncAfterRestart, enableHA, ' +
      'enableCSIIntegration, webhookUrl, resourcesToIgnore, workloadTypesToIgnore, namespaceSelectors, ' +
      'resourceSelectors, namespacesToIgnore, enablePProf, pprofAddr'
    ).split(', '),
  );
});

test('what the flags say, but never the URL of the webhook', () => {
  const given = infoFor(
    '--reload-on-create=true',
    '--is-Argo-Rollouts=true',
    '--resources-to-ignore=secrets',
    '--ignored-workload-types=jobs',
    '--namespaces-to-ignore=a,b',
    '--namespace-selector=c:d',
    '--resource-label-selector=e',
    '--webhook-url=https://user:hunter2@example.com/T0/B0/hunter3',
    '--auto-annotation=mine/auto',
  );
  expect(JSON.parse(given.reloaderOptions)).toMatchObject({
    reloadOnCreate: true,
    reloadOnDelete: false,
    isArgoRollouts: true,
    resourcesToIgnore: ['secrets'],
    workloadTypesToIgnore: ['jobs'],
    namespacesToIgnore: ['a', 'b'],
    namespaceSelectors: ['c=d'],
    resourceSelectors: ['e'],
    webhookUrl: 'set',
    reloaderAutoAnnotation: 'mine/auto',
    pprofAddr: ':6060',
  });
  expect(JSON.stringify(given)).not.toMatch(/hunter|example/);
  expect(JSON.parse(infoFor().reloaderOptions)).toMatchObject({
    webhookUrl: '',
    resourcesToIgnore: [],
    namespaceSelectors: [],
  });
});
