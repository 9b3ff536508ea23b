import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ownCertificate } from '../../../src/admission/certificates/own-certificate.ts';
import type { ServingCertificate } from '../../../src/admission/certificates/serving-certificate.ts';
import { run as install } from '../../../src/cli/admission/install.ts';
import { run as status } from '../../../src/cli/admission/status.ts';
import { run as uninstall } from '../../../src/cli/admission/uninstall.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { kubeClient } from '../../support/kube-client.ts';
import { type AnyObject, api, controlPlane, namespace } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { commandLine } from '../cli/run.ts';

const REGISTRATIONS = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
const KIND = 'MutatingWebhookConfiguration';
const admin = api();
let ns: string;
/** The three commands, for a registration of the test's own and namespaces that nobody else uses. */
let attune: Record<'install' | 'uninstall' | 'status', ReturnType<typeof commandLine>>;
beforeAll(async () => {
  ns = await namespace('install');
  const env = { ATTUNE_ADMISSION_NAME: ns };
  const command = (run: typeof install) =>
    commandLine(controlPlane(), env, (argv, io) => run([...flags(), ...argv], io));
  attune = { install: command(install), uninstall: command(uninstall), status: command(status) };
  afterAll(async () => {
    if (await admin.find(path())) await admin.delete(path());
  });
});

const flags = () => ['-n', ns, `--namespaces=${ns}`];
const path = () => `${REGISTRATIONS}/${ns}`;
const names = ({ webhooks }: AnyObject) => webhooks.map(({ name }: { name: string }) => name.split('.')[0]);
const policies = ({ webhooks }: AnyObject) => webhooks.map((each: { failurePolicy: string }) => each.failurePolicy);

/** What a running Attune does. */
async function becomeActive(bundle: string, policy: string): Promise<void> {
  const { webhooks } = await admin.get(path());
  const entries = webhooks.map(({ name }: { name: string }) => ({
    name,
    clientConfig: { caBundle: Buffer.from(bundle).toString('base64') },
    failurePolicy: policy,
  }));
  const body = { apiVersion: 'admissionregistration.k8s.io/v1', kind: KIND, metadata: { name: ns }, webhooks: entries };
  await admin.patch(`${path()}?fieldManager=attune-admission&force=true`, body, 'apply');
}

async function certificateOfAttune(): Promise<ServingCertificate> {
  const told: ServingCertificate[] = [];
  const stop = new AbortController();
  const nothing = () => {};
  const deps = { namespace: ns, name: `${ns}-cert`, hosts: [`${ns}.${ns}.svc`], lifeMs: 3_600_000, clock: systemClock };
  const log = { debug: nothing, info: nothing, warn: nothing, error: nothing };
  const metrics = { set: nothing, increment: nothing };
  const onChange = (given: ServingCertificate) => void told.push(given);
  const running = ownCertificate({ ...deps, client: kubeClient(), log, metrics, onChange }, stop.signal);
  const certificate = await until(() => told[0], { what: 'a certificate' });
  stop.abort();
  await running;
  return certificate;
}

test('printed, installed, told about, installed again, taken back', async () => {
  const dry = await attune.install('--dry-run');
  expect(dry).toMatchObject({ code: 0, stderr: 'by the flags given\n' });
  expect(parse(dry.stdout)).toMatchObject({ kind: KIND, metadata: { name: ns } });
  expect(JSON.parse((await attune.install('--dry-run', '-o', 'json')).stdout)).toEqual(parse(dry.stdout));

  expect(await attune.install()).toMatchObject({
    code: 0,
    stdout: `${KIND} ${ns} created: it leads to Service ${ns}/${ns}, port 443, path /mutate; attune admission status tells more\n`,
  });
  const made = await admin.get(path());
  expect([names(made), policies(made)]).toEqual([
    ['workloads', 'cronjobs'],
    ['Ignore', 'Ignore'],
  ]);
  expect(await attune.status()).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      new RegExp(`failurePolicy +Ignore\\n(.*\\n)*certificate +there is no Secret ${ns}/${ns}-cert`),
    ),
  });

  const { bundle } = await certificateOfAttune();
  await becomeActive(bundle, 'Fail');
  const told = await attune.status();
  expect(told.stdout).toMatch(/failurePolicy +Fail\ntrust +the certificate that is served is trusted\n/);
  expect(told.stdout).toMatch(/issuer +CN=Attune admission .*\nvalid until +\S+, for another \d+ min\n$/);
  expect(told.code).toBe(0);

  // Neither the same nor other flags take away what a running Attune has set.
  expect(await attune.install()).toMatchObject({ code: 0, stdout: expect.stringContaining(' updated: ') });
  expect((await admin.get(path())).metadata.resourceVersion).toBeDefined();
  expect(await attune.install('--ignored-workload-types=cronjobs')).toMatchObject({
    code: 0,
    stderr: 'by the flags given\n',
  });
  const fewer = await admin.get(path());
  expect([names(fewer), policies(fewer)]).toEqual([['workloads'], ['Fail']]);
  expect(await attune.install()).toMatchObject({ code: 0 });
  const again = await admin.get(path());
  expect([names(again), policies(again)]).toEqual([
    ['workloads', 'cronjobs'],
    ['Fail', 'Ignore'],
  ]);
  const json = JSON.parse((await attune.status('-o', 'json')).stdout);
  expect(json).toMatchObject([{ registration: ns, entries: [{ bundle: 'fits' }, { bundle: 'none' }] }]);

  expect(await attune.uninstall()).toMatchObject({
    code: 0,
    stdout: `${KIND} ${ns} deleted\nSecret ${ns}/${ns}-cert deleted\n`,
  });
  expect(await attune.uninstall()).toMatchObject({
    code: 0,
    stdout: `there is no ${KIND} ${ns}\nthere is no Secret ${ns}/${ns}-cert\n`,
  });
  expect(await admin.find(path())).toBeUndefined();
});

test('what belongs to another tool is not taken from it', async () => {
  await attune.install();
  const theirs = { webhooks: [{ name: 'workloads.admission.attune.dev', timeoutSeconds: 7 }] };
  const body = { apiVersion: 'admissionregistration.k8s.io/v1', kind: KIND, metadata: { name: ns }, ...theirs };
  await admin.patch(`${path()}?fieldManager=helm&force=true`, body, 'apply');
  const { code, stderr } = await attune.install();
  expect(code).toBe(1);
  expect(stderr).toMatch(/belongs to another tool \(.*conflict with "helm".*\): change it where it comes from/s);
  await admin.delete(path());

  await admin.create(REGISTRATIONS, { metadata: { name: ns }, webhooks: [] });
  expect(await attune.uninstall()).toMatchObject({ code: 1, stderr: expect.stringContaining("is not Attune's") });
  await admin.create(`/api/v1/namespaces/${ns}/secrets`, { metadata: { name: `${ns}-cert` } });
  await admin.delete(path());
  expect((await attune.uninstall()).stdout).toContain(`Secret ${ns}/${ns}-cert is left alone: Attune did not make it`);
});
