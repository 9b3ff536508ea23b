import { afterAll, expect, test } from 'vitest';
import { commandLine } from '../../../test/e2e/cli/run.ts';
import { listOf, scriptedApi } from '../../../test/support/scripted-api.ts';

const named = (name: string, annotations: object = {}) => ({
  namespace: 'shop',
  name,
  uid: name,
  resourceVersion: '1',
  annotations,
});
const lent = {
  metadata: named('lent'),
  spec: {
    selector: { matchLabels: { app: 'lent' } },
    template: { spec: { containers: [{ name: 'main', envFrom: [{ configMapRef: { name: 'app' } }] }] } },
  },
};
const canary = {
  metadata: named('canary', { 'reloader.stakater.com/auto': 'true' }),
  spec: { workloadRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'lent' } },
};
const SERVED: Readonly<Record<string, object>> = {
  deployments: lent,
  rollouts: canary,
  configmaps: { metadata: named('app') },
};

const api = await scriptedApi(({ path, verb, json, status }) => {
  const found = SERVED[path.split('/').at(verb === 'get' ? -2 : -1) ?? ''];
  if (verb === 'list') json(200, listOf(found ? [found] : [], '1'));
  else if (found) json(200, found);
  else status(404, 'NotFound');
});
afterAll(() => api[Symbol.asyncDispose]());
const attune = commandLine({ server: api.connection.server.origin, authority: '', token: 'test' });

const ask = async (flag: string, ...argv: readonly string[]) =>
  (await attune(...argv, '-n', 'shop', flag)).stdout.replaceAll(/\s+/g, ' ');

const ASKED = [
  ['impact', 'cm/app'],
  ['explain', 'deploy/lent'],
  ['explain', 'rollout/canary'],
];

test.each(ASKED)('%s %s: who asks is named where it is not the owner of the template', async (...argv) => {
  const rule = 'Rollout canary, which borrows this template, asks: reloader.stakater.com/auto: "true" in metadata';
  expect(await ask('--is-Argo-Rollouts=true', ...argv)).toContain(rule);
});

test.each(ASKED)('%s %s: a Rollout that is not watched asks for nothing', async (...argv) => {
  const said = await ask('--is-Argo-Rollouts=false', ...argv);
  expect(said).toContain('(not-asked)');
  expect(said).not.toContain('(auto)');
  expect(said.includes('Rollouts are not watched, so what it asks for does not count')).toBe(
    argv[1] === 'rollout/canary',
  );
});
