import { describe, expect, it } from 'vitest';
import { faultProxy } from '../../support/proxy.ts';
import { api, namespace, serviceAccount } from '../../support/sandbox.ts';
import { workload } from '../../support/workloads.ts';
import { commandLine } from './run.ts';

const PAUSED_AT = 'deployment.reloader.stakater.com/paused-at';
const PERIOD = { 'deployment.reloader.stakater.com/pause-period': '1h' };
const now = () => new Date().toISOString().replace(/\.\d+/, '');
// Other test files run Attune too, and its flags would count.
const DEFAULTS = '--reload-strategy=env-vars';
const shop = await namespace('resume');
const admin = api();
const path = (name = '') => `/apis/apps/v1/namespaces/${shop}/deployments${name && `/${name}`}`;
const attune = commandLine();

async function paused(name: string, annotations: Readonly<Record<string, string>>) {
  await admin.create(path(), workload('Deployment', name, { annotations, spec: { paused: true } }));
}

async function state(name: string) {
  const { spec, metadata } = await admin.get(path(name));
  return { paused: spec.paused === true, pausedAt: metadata.annotations?.[PAUSED_AT] };
}

it('ends what a reloader began, long before its time, and nothing else', async () => {
  await paused('ours', { ...PERIOD, [PAUSED_AT]: now() });
  await paused('period-gone', { [PAUSED_AT]: now() });
  await paused('users', PERIOD);

  const { code, stdout } = await attune('resume', '-n', shop, DEFAULTS);
  expect(code).toBe(0);
  expect(stdout.split('\n').sort()).toEqual([
    '',
    '2 resumed',
    `Deployment ${shop}/ours resumed`,
    `Deployment ${shop}/period-gone resumed`,
  ]);
  expect(await state('ours')).toEqual({ paused: false, pausedAt: undefined });
  expect(await state('period-gone')).toEqual({ paused: false, pausedAt: undefined });
  expect(await state('users')).toEqual({ paused: true, pausedAt: undefined });

  expect(await attune('resume', '-n', shop, DEFAULTS)).toMatchObject({
    code: 0,
    stdout: 'nothing was paused by a reloader\n',
  });
});

describe('where', () => {
  it('only in the namespaces that the flags name, with no right to others', async () => {
    await paused('scoped', { [PAUSED_AT]: now() });
    const { code, stdout } = await attune('resume', `--namespaces=${shop}`);
    expect({ code, stdout }).toEqual({ code: 0, stdout: `Deployment ${shop}/scoped resumed\n1 resumed\n` });
  });

  // Other tests have pauses of their own in this cluster, so it is never asked for everywhere.
  const here = `--namespace-selector=kubernetes.io/metadata.name=${shop}`;

  it('not where it is told to ignore', async () => {
    await paused('ignored', { [PAUSED_AT]: now() });
    expect(await attune('resume', here, `--namespaces-to-ignore=${shop}`)).toMatchObject({ code: 0 });
    expect(await state('ignored')).toMatchObject({ paused: true });
  });

  it('by the labels of namespaces', async () => {
    await paused('labelled', { [PAUSED_AT]: now() });
    expect(await attune('resume', here)).toMatchObject({ code: 0 });
    expect(await state('labelled')).toMatchObject({ paused: false });
  });

  it('by another key', async () => {
    await paused('custom', { 'example.com/paused': now() });
    await attune('resume', '-n', shop, '--pause-deployment-time-annotation=example.com/paused');
    expect(await state('custom')).toMatchObject({ paused: false });
  });
});

it('somebody else writes at the same time: looks again and resumes', async () => {
  await paused('busy', { [PAUSED_AT]: now() });
  const proxy = await faultProxy();
  proxy.setRules([{ fault: { type: 'status', code: 409 }, verbs: ['patch'], times: 2 }]);
  expect(await commandLine(proxy.access)('resume', '-n', shop, DEFAULTS)).toMatchObject({ code: 0 });
  expect(await state('busy')).toMatchObject({ paused: false });
  expect(proxy.faults).toBe(2);
});

it('what it may not write stays paused, is named, and the end is no success', async () => {
  await paused('locked', { [PAUSED_AT]: now() });
  const rules = [{ apiGroups: ['apps'], resources: ['deployments'], verbs: ['list'] }];
  const reader = await serviceAccount(shop, 'reader', rules);
  const { code, stderr } = await commandLine(reader)('resume', '-n', shop, DEFAULTS);
  expect(code).toBe(1);
  expect(stderr).toMatch(new RegExp(`Deployment ${shop}/locked is still paused: .*Forbidden`));
});

it('words that are no flags are refused', async () => {
  expect(await attune('resume', 'everything')).toMatchObject({ code: 2 });
});
