import { afterAll, beforeAll, expect, test } from 'vitest';
import { addressOf, probe } from '../../../src/admission/probe.ts';
import { registrationManifest } from '../../../src/admission/registration/manifest.ts';
import { keepRegistered } from '../../../src/admission/registration/registration.ts';
import { systemClock } from '../../../src/runtime/clock.ts';
import { kubeClient } from '../../support/kube-client.ts';
import { type AnyObject, api, namespace, serviceAccount } from '../../support/sandbox.ts';
import { settings } from '../../support/settings.ts';
import { until } from '../../support/wait.ts';
import { receiver } from './receiver.ts';

const REGISTRATIONS = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
const admin = api();
let ns: string;
let endpoint: Awaited<ReturnType<typeof receiver>>;
beforeAll(async () => {
  ns = await namespace('registration');
  endpoint = await receiver();
  afterAll(() => admin.delete(`${REGISTRATIONS}/${ns}`));
});

const target = () => ({ name: ns, namespace: ns, url: endpoint.url });
const path = () => `${REGISTRATIONS}/${ns}`;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

function manifest(): Record<string, unknown> {
  const { admissionServer, ...rules } = settings([`--namespaces=${ns}`]);
  return { ...registrationManifest(target(), { ...rules, marks: admissionServer.marks }) };
}

/** Entries by policy and bundle, all in one line. */
const stateOf = ({ webhooks }: AnyObject): string =>
  (webhooks as readonly { failurePolicy: string; clientConfig: { caBundle?: string } }[])
    .map(({ failurePolicy, clientConfig }) => `${failurePolicy} ${clientConfig.caBundle ?? ''}`)
    .join();

const becomes = (state: string) => until(async () => stateOf(await admin.get(path())) === state, { what: state });

/** As GitOps does it: its own fields, over everybody else's. */
const gitOps = (webhooks: unknown) =>
  admin.patch(
    `${path()}?fieldManager=argocd-controller&force=true`,
    { ...manifest(), webhooks, kind: 'MutatingWebhookConfiguration' },
    'apply',
  );

test('Fail is taken back where the API server trusts nobody, and comes with the bundle that somebody else writes', async () => {
  const name = `${ns}-theirs`;
  const their = { ...target(), name };
  const theirPath = `${REGISTRATIONS}/${name}`;
  const { admissionServer, ...rules } = settings([`--namespaces=${ns}`]);
  const { webhooks, ...rest } = registrationManifest(their, { ...rules, marks: admissionServer.marks });
  const entries = (webhooks as readonly Record<string, unknown>[]).map((each) => ({ ...each, failurePolicy: 'Fail' }));
  await admin.create(REGISTRATIONS, { ...rest, webhooks: entries });
  const stop = new AbortController();
  const lines: string[] = [];
  const say = (line: string) => void lines.push(line);
  const running = keepRegistered(
    {
      client: kubeClient(),
      target: their,
      failurePolicy: 'Fail',
      timeoutFound: () => {},
      bundle: () => '',
      probe: async (bundle) => void (await probe(addressOf(their), their, bundle, stop.signal)),
      clock: systemClock,
      log: { debug: say, info: say, warn: say, error: say },
      metrics: { set: () => {}, increment: () => {} },
    },
    stop.signal,
  );
  const state = async () => stateOf(await admin.get(theirPath));
  try {
    await until(async () => (await state()) === 'Ignore ,Ignore ', { what: 'Ignore' });
    expect(lines[0]).toContain('the API server does not trust admission, so failurePolicy is Ignore');
    const { webhooks: now } = await admin.get(theirPath);
    const trusting = (now as readonly { clientConfig: object }[]).map((each) => ({
      ...each,
      clientConfig: { ...each.clientConfig, caBundle: base64(endpoint.bundle) },
    }));
    await admin.patch(theirPath, { webhooks: trusting }, 'merge');
    const wanted = `Fail ${base64(endpoint.bundle)}`;
    await until(async () => (await state()) === `${wanted},${wanted}`, { what: 'Fail' });
  } finally {
    stop.abort();
    await running;
    await admin.delete(theirPath);
  }
});

test('owns two fields, with the right to this object alone, and takes them back from whoever resets them', async () => {
  const rights = { apiGroups: ['admissionregistration.k8s.io'], resources: ['mutatingwebhookconfigurations'] };
  const account = await serviceAccount(ns, 'attune', [{ ...rights, resourceNames: [ns], verbs: ['get', 'patch'] }]);
  const lines: string[] = [];
  const say = (line: string) => void lines.push(line);
  let repairs = 0;
  let bundle = endpoint.bundle;
  let changed = () => {};
  const stop = new AbortController();
  const running = keepRegistered(
    {
      client: kubeClient(account),
      target: target(),
      failurePolicy: 'Fail',
      timeoutFound: () => {},
      bundle: () => bundle,
      probe: async () => {},
      onBundleChange: (listener) => {
        changed = listener;
      },
      clock: systemClock,
      log: { debug: say, info: say, warn: say, error: say },
      metrics: {
        set: () => {},
        increment: () => {
          repairs += 1;
        },
      },
    },
    stop.signal,
  );
  await until(() => lines.length > 0, { what: 'the sentence' });
  expect(lines[0]).toContain(`there is no MutatingWebhookConfiguration ${ns}`);

  const { webhooks } = await gitOps(manifest()['webhooks']);
  expect(stateOf({ webhooks } as unknown as AnyObject)).toBe('Ignore ,Ignore ');
  const right = `Fail ${base64(bundle)}`;
  await becomes(`${right},${right}`);
  const { metadata } = await admin.get(path());
  const fields = metadata as unknown as { managedFields: readonly { manager: string; fieldsV1: object }[] };
  const own = fields.managedFields.find(({ manager }) => manager === 'attune-admission')?.fieldsV1;
  const entry = { '.': {}, 'f:name': {}, 'f:clientConfig': { 'f:caBundle': {} }, 'f:failurePolicy': {} };
  const key = (name: string) => `k:{"name":"${name}.admission.attune.dev"}`;
  expect(own).toEqual({ 'f:webhooks': { [key('workloads')]: entry, [key('cronjobs')]: entry } });

  // What Attune sets, a tool that leaves it out of what it applies does not touch.
  const lean = (manifest()['webhooks'] as readonly Record<string, unknown>[]).map(({ failurePolicy, ...rest }) => rest);
  expect(stateOf(await gitOps(lean))).toBe(`${right},${right}`);
  expect(repairs).toBe(0);

  await gitOps(manifest()['webhooks']);
  await becomes(`${right},${right}`);
  expect(repairs).toBe(1);

  bundle = endpoint.bundle + endpoint.bundle;
  changed();
  const renewed = `Fail ${base64(bundle)}`;
  await becomes(`${renewed},${renewed}`);
  expect(repairs).toBe(1);
  stop.abort();
  await running;
});
