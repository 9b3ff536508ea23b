import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { registrationManifest } from '../../src/admission/registration/manifest.ts';
import { parseSettings } from '../../src/config/parse-settings.ts';
import { freePort } from '../../src/sandbox/control-plane/ports.ts';
import { now } from '../api.ts';
import type { BenchCluster } from '../bench-cluster.ts';
import { namespaceOf } from '../contender.ts';
import { createAll, objectPath } from '../objects.ts';
import { createPairs, MB, type Scenario, type ScenarioContext, withContender } from '../scenario.ts';
import { percentile } from '../statistics.ts';

const PAIRS = 20;
const NAME = 'attune-admission';
const CONFIGURATION = `/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/${NAME}`;
const RATE = 500;
// Each costs a request to the API server, which has the same machine.
const READING_RATE = 100;
const BODY_BYTES = 20 * 1024;

/** What it costs others that admission is asked, and what it costs to answer. */
export const admission: Scenario = {
  id: 'admission',
  title: 'PUT with and without admission; 500 reviews of 20 KiB a second straight at the endpoint',
  async run(context: ScenarioContext): Promise<void> {
    const { cluster, contenders, quick, record } = context;
    const [ours] = contenders;
    if (!ours) return;
    const namespace = 'bench-admission';
    const pairs = await createPairs(cluster, namespace, PAIRS);
    await grant(cluster, namespaceOf(ours.name), ours.name);
    const flags = [`--namespaces=${namespace},bench-canary`];
    let bareBytes = 0;
    const mark = async () => {
      for (const { source, workload } of pairs) await cluster.carriedOut(await cluster.put(source, [workload]), 30_000);
    };
    await withContender(context, ours, { flags }, async (program) => {
      await mark();
      await delay(SETTLE_MS);
      bareBytes = program.memory().rssBytes;
    });
    const port = await freePort();
    const url = `https://127.0.0.1:${port}`;
    const serving = ['--admission', `--admission-listen=127.0.0.1:${port}`, `--admission-url=${url}`, '--drain=0s'];
    await withContender(context, ours, { flags: [...flags, ...serving] }, async (program) => {
      await mark();
      const manifest = registrationOf([...flags, ...serving], namespaceOf(ours.name));
      const samples = { with: [] as number[], without: [] as number[] };
      // In turns, because the speed of the machine changes within minutes.
      for (let round = 0; round < (quick ? 2 : 4); round += 1) {
        await putAll(cluster, namespace, pairs.length);
        samples.without.push(...(await putAll(cluster, namespace, 200)));
        await register(cluster, manifest);
        await putAll(cluster, namespace, pairs.length);
        samples.with.push(...(await putAll(cluster, namespace, 200)));
        if (round + 1 < (quick ? 2 : 4)) await cluster.api.call('DELETE', CONFIGURATION);
      }
      const bundle = await bundleOf(cluster);
      const load = (rate: number, body: object) =>
        sendReviews(cluster.dir, { url, bundle, body, rate, seconds: quick ? 10 : 30 });
      const restoring = await load(RATE, await restoringReview(cluster, namespace));
      await delay(SETTLE_MS);
      const { rssBytes } = program.memory();
      const reading = await load(READING_RATE, await readingReview(cluster, namespace));
      record({
        scenario: 'admission',
        contender: 'attune',
        figures: {
          'PUT p50 ms': percentile(samples.with, 0.5),
          'PUT p50 ms without': percentile(samples.without, 0.5),
          'added p50 ms': percentile(samples.with, 0.5) - percentile(samples.without, 0.5),
          'reviews p50 ms': percentile(restoring.latencies, 0.5),
          'reviews p99 ms': percentile(restoring.latencies, 0.99),
          'reviews failed': restoring.failures,
          'reviews patched': restoring.patched,
          '100/s with live reads p50 ms': percentile(reading.latencies, 0.5),
          '100/s with live reads p99 ms': percentile(reading.latencies, 0.99),
          'with live reads failed': reading.failures,
          'added RSS MB': (rssBytes - bareBytes) / MB,
        },
        ...(restoring.failure === '' ? {} : { note: restoring.failure.slice(0, 200) }),
      });
    });
    await cluster.api.send('DELETE', CONFIGURATION);
  },
};

// Until the heap has been given back.
const SETTLE_MS = 15_000;

type Body = Readonly<Record<string, unknown>>;

function registrationOf(argv: readonly string[], namespace: string): Body {
  const parsed = parseSettings(argv, { POD_NAMESPACE: namespace });
  if (!parsed.ok) throw new Error(parsed.problems.join());
  const { settings } = parsed;
  const { url, marks } = settings.admissionServer;
  return registrationManifest({ name: NAME, namespace, url }, { ...settings, marks }) as Body;
}

async function register(cluster: BenchCluster, manifest: Body): Promise<void> {
  await createAll(cluster.api, [manifest as never]);
  const deadline = now() + 60_000;
  while (!(await cluster.api.call('GET', CONFIGURATION)).text.includes('"caBundle"')) {
    if (now() > deadline) throw new Error('the registration is not completed');
    await delay(100);
  }
  // API servers read it by a watch.
  await delay(1500);
}

const deploymentPath = (namespace: string, index: number): string =>
  objectPath('Deployment', namespace, `app-${index % PAIRS}`);

/** Whole objects with another label, one after the other: milliseconds until each answer. */
async function putAll(cluster: BenchCluster, namespace: string, count: number): Promise<number[]> {
  const latencies: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const path = deploymentPath(namespace, index);
    const object = JSON.parse((await cluster.api.call('GET', path)).text) as { metadata: Record<string, unknown> };
    const { resourceVersion: _, managedFields: __, ...metadata } = object.metadata;
    const body = { ...object, metadata: { ...metadata, labels: { round: String(now()) } } };
    const began = now();
    await cluster.api.call('PUT', path, body);
    latencies.push(now() - began);
  }
  return latencies;
}

async function reviewOf(cluster: BenchCluster, namespace: string, edit: (object: Deployment) => void): Promise<Body> {
  const oldObject = JSON.parse((await cluster.api.call('GET', deploymentPath(namespace, 0))).text) as Deployment;
  const object = structuredClone(oldObject);
  edit(object);
  const request = {
    uid: '5f0e1f2a-0000-4000-8000-000000000001',
    kind: { group: 'apps', version: 'v1', kind: 'Deployment' },
    resource: { group: 'apps', version: 'v1', resource: 'deployments' },
    operation: 'UPDATE',
    namespace,
    userInfo: { username: 'kubernetes-admin' },
    options: { kind: 'UpdateOptions', apiVersion: 'meta.k8s.io/v1' },
    dryRun: false,
    object,
    oldObject,
  };
  const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request };
  const missing = BODY_BYTES - JSON.stringify(review).length;
  object.metadata.annotations['bench/padding'] = 'x'.repeat(Math.max(0, missing));
  return review;
}

interface Deployment {
  readonly metadata: { annotations: Record<string, string> };
  readonly spec: { readonly template: { readonly spec: { readonly containers: { env?: unknown; image?: string }[] } } };
}

const restoringReview = (cluster: BenchCluster, namespace: string): Promise<Body> =>
  reviewOf(cluster, namespace, (object) => {
    for (const container of object.spec.template.spec.containers) delete container.env;
  });

const readingReview = (cluster: BenchCluster, namespace: string): Promise<Body> =>
  reviewOf(cluster, namespace, (object) => {
    object.metadata.annotations['pod-reloader.cs.sap.com/configmaps'] = 'app-0';
    for (const container of object.spec.template.spec.containers) container.image = 'another';
  });

async function bundleOf(cluster: BenchCluster): Promise<string> {
  const { webhooks } = JSON.parse((await cluster.api.call('GET', CONFIGURATION)).text) as {
    readonly webhooks: readonly { readonly clientConfig: { readonly caBundle: string } }[];
  };
  return Buffer.from(webhooks[0]?.clientConfig.caBundle ?? '', 'base64').toString();
}

interface Load {
  readonly latencies: readonly number[];
  readonly patched: number;
  readonly failures: number;
  readonly failure: string;
}

async function sendReviews(
  dir: string,
  { url, bundle, body, rate, seconds }: { url: string; bundle: string; body: object; rate: number; seconds: number },
): Promise<Load> {
  const files = { bundle: join(dir, 'admission-ca.pem'), body: join(dir, 'review.json') };
  writeFileSync(files.bundle, bundle);
  writeFileSync(files.body, JSON.stringify(body));
  const script = join(import.meta.dirname, '..', 'review-load.ts');
  const words = [`--url=${url}`, `--bundle=${files.bundle}`, `--body=${files.body}`, `--rate=${rate}`];
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...words, `--seconds=${seconds}`], {
    maxBuffer: 64 * MB,
  });
  return JSON.parse(stdout) as Load;
}

async function grant(cluster: BenchCluster, namespace: string, account: string): Promise<void> {
  await cluster.accessOf(account, 'of the chart');
  const rbac = 'rbac.authorization.k8s.io';
  const metadata = { name: NAME };
  const secrets = { apiGroups: [''], resources: ['secrets'] };
  const rules = [
    {
      apiGroups: ['admissionregistration.k8s.io'],
      resources: ['mutatingwebhookconfigurations'],
      resourceNames: [NAME],
      verbs: ['get', 'patch'],
    },
    { ...secrets, verbs: ['create'] },
    { ...secrets, resourceNames: [`${NAME}-cert`], verbs: ['get', 'update'] },
  ];
  await createAll(cluster.api, [
    { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata, rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: NAME },
      subjects: [{ kind: 'ServiceAccount', namespace, name: account }],
    },
  ]);
}
