import { spawn } from 'node:child_process';
import { environment } from '../../../src/config/load.ts';
import { findBinaries } from '../../../src/sandbox/binaries/binaries.ts';
import { type AdmissionStage, admissionStage, type Replica } from '../../support/admission.ts';
import { Audit } from '../../support/audit.ts';
import type { Controller } from '../../support/controller.ts';
import { type AnyObject, api, controlPlane } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { pathOf } from '../../support/workloads.ts';
import { commandLine } from '../cli/run.ts';
import { type Moves, movesIn } from '../reloader/moves.ts';

/** How a workload asks, and what of that shows in its template. */
export interface Dialect {
  readonly title: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly flags: readonly string[];
}

export const DIALECTS: readonly Dialect[] = [
  { title: 'Stakater', annotations: { 'reloader.stakater.com/auto': 'true' }, flags: [] },
  { title: 'SAP', annotations: { 'pod-reloader.cs.sap.com/configmaps': 'c' }, flags: [] },
  {
    title: 'Stakater, by annotation',
    annotations: { 'configmap.reloader.stakater.com/reload': 'c' },
    flags: ['--reload-strategy=annotations'],
  },
  { title: 'SAP under compat', annotations: { 'pod-reloader.cs.sap.com/configmaps': 'c' }, flags: ['--compat=sap'] },
];

/** The manifest M of a Deployment `d` that takes variables from ConfigMap `c`, without any mark. */
export const manifest = (annotations: Dialect['annotations'], minReadySeconds = 0) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd', annotations },
  spec: {
    replicas: 3,
    minReadySeconds,
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    selector: { matchLabels: { app: 'd' } },
    template: {
      metadata: { labels: { app: 'd' } },
      spec: { containers: [{ name: 'main', image: 'one', envFrom: [{ configMapRef: { name: 'c' } }] }] },
    },
  },
});

export type Manifest = ReturnType<typeof manifest>;

/** With a quiet period in which any machine can write two objects. */
export const patient = (given: Manifest): Manifest => {
  const annotations = { ...given.metadata.annotations, 'attune.dev/quiet-period': '30s', 'attune.dev/max-wait': '60s' };
  return { ...given, metadata: { ...given.metadata, annotations } };
};

/** Attune with admission, and namespaces to play in. */
export interface World extends AsyncDisposable {
  readonly stage: AdmissionStage;
  readonly replicas: Replica[];
  /** The controller, where there is no admission at all. */
  readonly alone: Controller | undefined;
  /** A namespace that nobody has used yet, with `c` and `d` in it. */
  scene(minReadySeconds?: number): Promise<Scene>;
}

/** A namespace with `c` and `d`, and an auditor who sees everything. */
export interface Scene extends AsyncDisposable {
  readonly space: string;
  readonly audit: Audit;
  readonly moves: Moves;
  readonly path: string;
  readonly manifest: Manifest;
  /** Rollouts of `d` so far: templates that it went through, without the first. */
  rolls(): number;
  deployment(): AnyObject;
  /** The uids of its pods. */
  pods(): readonly string[];
  /** The uids of its ReplicaSets. */
  replicaSets(): readonly string[];
  /** The Deployment, `d` if no other is named, is rolled out, and nothing of an older template is left. */
  complete(name?: string): Promise<void>;
  /** Changes the data of `c`, and waits until the reload has begun. */
  change(value: string): Promise<void>;
  /** The same, until it is complete. */
  reload(value: string): Promise<void>;
  /** As an administrator, with this input; gives what it says. */
  kubectl(argv: readonly string[], input?: unknown): Promise<string>;
  /** Later changes have arrived: whatever an earlier one was to do is done. */
  fence(): Promise<void>;
}

export interface WorldOptions {
  readonly flags?: readonly string[];
  /** How many replicas serve admission; 0: there is no admission at all. */
  readonly replicas?: number;
  readonly spaces?: number;
}

export async function world(dialect: Dialect, options: WorldOptions = {}): Promise<World> {
  const { replicas: wanted = 1, spaces = 12 } = options;
  const install = async (argv: readonly string[], env: Readonly<Record<string, string>>) => {
    const { code, stderr } = await commandLine(controlPlane(), env)('admission', 'install', ...argv, ...dialect.flags);
    if (code !== 0) throw new Error(stderr);
  };
  const stage = await admissionStage(wanted === 0 ? async () => {} : install, { spaces });
  if (wanted > 0) await beAsPatientAsCanBe(stage);
  const flags = [...dialect.flags, '--quiet-period=100ms', ...(options.flags ?? [])];
  const replicas: Replica[] = [];
  for (let n = 0; n < wanted; n += 1) replicas.push(await stage.serve(flags));
  const alone = wanted === 0 ? await stage.start(flags) : undefined;
  const policy = flags.includes('--admission-failure-policy=Fail') ? 'Fail' : 'Ignore';
  if (wanted > 0) {
    await stage.untilRegistered(policy);
    await untilAsked(stage.space);
  }
  const left = [...stage.spaces];
  return {
    stage,
    replicas,
    alone,
    scene: (minReadySeconds) => sceneIn(left.shift() ?? '', manifest(dialect.annotations, minReadySeconds)),
    async [Symbol.asyncDispose]() {
      for (const each of [...replicas, alone]) await each?.[Symbol.asyncDispose]();
      await stage[Symbol.asyncDispose]();
    },
  };
}

/**
 * A call that takes longer than the three seconds of the registration counts as not answered, and the write goes on without
 * its marks. On a busy machine that would look like a fault of Attune's. Before it starts: who is overtaken waits a while.
 */
async function beAsPatientAsCanBe({ name, registration }: AdmissionStage): Promise<void> {
  const { webhooks = [] } = ((await registration()) ?? {}) as { readonly webhooks?: readonly object[] };
  const edits = webhooks.map((_, at) => ({ op: 'add', path: `/webhooks/${at}/timeoutSeconds`, value: 20 }));
  const path = `/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/${name}`;
  await api().patch(path, edits, 'json');
}

/** The API server acts by its own copy of the registration, which is a moment behind: what comes earlier gets no hash. */
async function untilAsked(space: string): Promise<void> {
  const canary = manifest({ 'pod-reloader.cs.sap.com/configmaps': 'none' });
  const hash = async (): Promise<string | undefined> => {
    const { spec } = await api().create(`${pathOf('Deployment', space)}?dryRun=All`, canary);
    return spec.template.metadata.annotations?.['pod-reloader.cs.sap.com/config-hash'];
  };
  await until(hash, { what: 'admission being asked' });
}

async function sceneIn(space: string, made: Manifest): Promise<Scene> {
  const moves = movesIn(space);
  await moves.createSource('ConfigMap', 'c', { k: 'v1' });
  await moves.createSource('ConfigMap', 'fence', { k: '0' });
  await moves.createUser('fence', 'fence');
  const audit = await Audit.of(space, ['Deployment', 'ReplicaSet', 'Pod']);
  let round = 0;
  const scene: Scene = {
    space,
    audit,
    moves,
    path: pathOf('Deployment', space, 'd'),
    manifest: made,
    rolls: () => audit.templates('Deployment', 'd').length - 1,
    deployment: () => audit.latest('Deployment', 'd') as AnyObject,
    pods: () => podsOf(audit.all('Pod')),
    replicaSets: () =>
      audit
        .all('ReplicaSet')
        .filter(({ metadata }) => metadata.labels?.['app'] === 'd')
        .map(({ metadata }) => metadata.uid)
        .sort(),
    async complete(name = 'd') {
      await audit.until('the rollout is complete', () => isComplete(audit.latest('Deployment', name)), 90_000);
      // The watch of pods may be behind that of Deployments, and show three in the middle of the rollout too.
      const isUpToDate = async () => {
        const there = podsOf(await api().list(`/api/v1/namespaces/${space}/pods`));
        return there.join() === scene.pods().join();
      };
      await until(isUpToDate, { what: 'its pods' });
    },
    async change(value) {
      const before = scene.rolls();
      await moves.setData('ConfigMap', 'c', { k: value });
      await audit.until('the reload', () => scene.rolls() > before);
    },
    async reload(value) {
      await scene.change(value);
      await scene.complete();
    },
    kubectl: (argv, input) => kubectl(['-n', space, ...argv], input),
    async fence() {
      for (let rounds = 2; rounds > 0; rounds -= 1) {
        round += 1;
        const before = audit.templates('Deployment', 'fence').length;
        await moves.setData('ConfigMap', 'fence', { k: String(round) });
        await audit.until('the fence', () => audit.templates('Deployment', 'fence').length > before);
      }
    },
    [Symbol.asyncDispose]: () => audit[Symbol.asyncDispose](),
  };
  await api().create(pathOf('Deployment', space), made);
  await audit.until('the Deployment', () => audit.latest('Deployment', 'd'));
  await scene.complete();
  return scene;
}

const podsOf = (pods: readonly AnyObject[]): readonly string[] =>
  pods
    .filter(({ metadata }) => metadata.labels?.['app'] === 'd' && metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => metadata.uid)
    .sort();

function isComplete(deployment: AnyObject | undefined): boolean {
  if (!deployment) return false;
  const { spec, status, metadata } = deployment;
  // As long as old pods are leaving, its controller has one more status to write, and whoever writes may be overtaken by it.
  const { observedGeneration, updatedReplicas, replicas, availableReplicas, terminatingReplicas = 0 } = status ?? {};
  return (
    observedGeneration === metadata.generation &&
    terminatingReplicas === 0 &&
    [updatedReplicas, replicas, availableReplicas].every((count) => count === spec.replicas)
  );
}

async function kubectl(argv: readonly string[], input?: unknown): Promise<string> {
  const binaries = await findBinaries(['kubectl'], { env: environment() }, () => {});
  const child = spawn(binaries.kubectl, argv, { env: { ...environment(), KUBECONFIG: controlPlane().kubeconfig } });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk));
  child.stdin.end(input === undefined ? '' : JSON.stringify(input));
  const code = await new Promise((resolve) => void child.on('close', resolve));
  if (code !== 0) throw new Error(`kubectl ${argv.join(' ')}: ${said}`);
  return said;
}
