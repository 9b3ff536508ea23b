import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { canonicalText, objectAt } from '../../api/json.ts';
import type { DataObject, KubeObject } from '../../api/objects.ts';
import { SOURCE_RESOURCES } from '../../api/resources.ts';
import { parseSettings } from '../../config/parse-settings.ts';
import type { Settings } from '../../config/settings.ts';
import type { Outcome } from '../../domain/outcome/outcome.ts';
import { variableName } from '../../domain/template/marks.ts';
import type { KubeClient } from '../../kube/client.ts';
import { systemClock } from '../../runtime/clock.ts';
import { logFile } from '../../sandbox/processes/process-logs.ts';
import { createLog, type Log } from '../../telemetry/log.ts';
import { startController } from '../commands/controller.ts';
import { unlessStopped } from '../terminal/signals.ts';
import { table } from '../terminal/table.ts';
import { DEMO, DEMO_WORKLOADS, type DemoWorkload, installDemo, manifest } from './demo.ts';
import { admissionFlags, registerAdmission } from './demo-admission.ts';
import { createConfig, DEMO_CONFIG, installDefinition } from './demo-config.ts';
import { type PodMarks, waitForRollout } from './demo-rollout.ts';
import { TourPage } from './tour-page.ts';

const OWN_NAMESPACE = 'attune';
const ARROW = '→';

/** The steps of the tour. Each prints what it does, does it, and checks the result in the cluster. */
export class Tour extends TourPage {
  readonly #controllerStop = new AbortController();
  readonly #pods = new Map<DemoWorkload, PodMarks>();
  #settings: Settings | undefined;
  /** Resolves when the controller has ended; rejects if it ends before `stopController`. */
  controllerEnded: Promise<void> = Promise.resolve();

  async installDemo(client: KubeClient): Promise<void> {
    await installDefinition(client, this.io.signal);
    await installDemo(client, OWN_NAMESPACE);
    this.io.stdout(table(DEMO_WORKLOADS.map(introduce), this.page, 3));
    await this.#waitForRollouts(client, DEMO_WORKLOADS);
    this.done('all pods are ready');
  }

  /** Starts the controller in this process, with its log beside those of the sandbox. */
  async startController(kubeconfig: string, dir: string): Promise<void> {
    const env = { KUBECONFIG: kubeconfig, ATTUNE_NAMESPACE: OWN_NAMESPACE, ATTUNE_LISTEN_ADDRESS: '127.0.0.1' };
    const parsed = parseSettings(await admissionFlags(), env);
    if (!parsed.ok) throw new Error(parsed.problems.join('; '));
    const ready = Promise.withResolvers<void>();
    const hooks = { onReady: ready.resolve, onOutcome: (outcome: Outcome) => this.#tell(outcome) };
    const io = { ...this.io, env, signal: this.#controllerStop.signal, ...hooks };
    this.controllerEnded = startController(parsed.settings, [], this.#log(dir), io).then(() => {
      if (!this.#controllerStop.signal.aborted) throw new Error('the controller has ended');
    });
    await unlessStopped(Promise.race([ready.promise, this.controllerEnded]), this.io.signal);
    this.done('it watches the whole cluster');
    this.#settings = parsed.settings;
  }

  /** Somebody writes a manifest that knows nothing of the mark; without admission all pods would be replaced. */
  async replace(client: KubeClient): Promise<void> {
    const [web] = DEMO_WORKLOADS as [DemoWorkload];
    if (this.#settings) await registerAdmission(client, this.#settings, this.io.signal);
    const { kind, name } = web;
    const ref = { namespace: DEMO, name };
    const before = await client.get(kind, ref);
    this.detail(`kubectl -n ${DEMO} replace -f ${name}.yaml    # as its author wrote it, without the mark`);
    const apiVersion = `${kind.group}/${kind.version}`;
    const after = await client.replace(kind, ref, { apiVersion, kind: kind.kind, ...manifest(web) });
    const templateOf = (object: KubeObject): string => canonicalText(objectAt(object, kind.templatePath));
    if (templateOf(after) !== templateOf(before)) throw new Error(`${nameOf(web)} has another template`);
    await this.#checkUntouched(client, web);
    this.done('admission put the mark back in the same request: nothing restarts');
  }

  /** A ReloaderConfig asks for a Deployment that has no annotations; to create it rolls nothing. */
  async followConfig(client: KubeClient): Promise<void> {
    const { name, configMap } = DEMO_CONFIG;
    const targets = DEMO_WORKLOADS.filter((workload) => workload.name === name);
    this.detail(
      `kubectl -n ${DEMO} apply -f ${name}.yaml    # a ReloaderConfig: ConfigMap ${configMap}, for ${targets.map(nameOf)}`,
    );
    await Promise.race([createConfig(client, this.io.signal), this.controllerEnded]);
    for (const workload of targets) await this.#checkUntouched(client, workload);
    await this.change(client, 'ConfigMap', configMap, targets);
  }

  async stopController(): Promise<void> {
    this.#controllerStop.abort();
    await this.controllerEnded;
  }

  /** Changes a source, and waits until all workloads that asked for it have new pods, and no others have. */
  async change(
    client: KubeClient,
    kind: 'ConfigMap' | 'Secret',
    name: string,
    byConfig: readonly DemoWorkload[] = [],
  ): Promise<void> {
    const resource = SOURCE_RESOURCES[kind];
    const { data } = await client.get<DataObject>(resource, { namespace: DEMO, name });
    const revision = data?.['revision'] ?? '';
    const next = Number(kind === 'Secret' ? Buffer.from(revision, 'base64').toString() : revision) + 1;
    const body = { [kind === 'Secret' ? 'stringData' : 'data']: { revision: String(next) } };
    this.detail(`kubectl -n ${DEMO} patch ${kind.toLowerCase()} ${name} -p '${JSON.stringify(body)}'`);
    await client.patch(resource, { namespace: DEMO, name }, body, { type: 'merge' });
    const users = DEMO_WORKLOADS.filter(({ from }) => Object.values(from).includes(name));
    const asking = [...users.filter(({ annotations }) => Object.keys(annotations).length > 0), ...byConfig];
    await Promise.race([this.#waitForRollouts(client, asking, variableName(kind, name)), this.controllerEnded]);
    for (const workload of users) if (!asking.includes(workload)) await this.#checkUntouched(client, workload);
    this.done(`${asking.map(nameOf).join(' and ')} ${asking.length === 1 ? 'has' : 'have'} new pods with the new data`);
  }

  /** Prints commands to try next, which work as they are printed. */
  suggest(sandbox: string): void {
    const on = sandbox === 'default' ? 'sandbox' : `sandbox --name ${sandbox}`;
    const at = sandbox === 'default' ? '--sandbox' : `--sandbox=${sandbox}`;
    this.tellCommands([
      ['Why does worker roll for one, and not for the other?', `./attune explain deployment/worker -n ${DEMO} ${at}`],
      ['Who rolls for the Secret?', `./attune impact secret/db-password -n ${DEMO} ${at}`],
      [
        'Let worker ask:',
        `./attune ${on} kubectl -n ${DEMO} annotate deployment worker reloader.stakater.com/auto=true`,
      ],
      ['Change something:', `./attune ${on} kubectl -n ${DEMO} patch configmap app -p '{"data":{"greeting":"hi"}}'`],
      ['Read the log:', `./attune ${on} logs attune`],
    ]);
    this.say('\nWhat happens shows here. Ctrl-C ends it and clears everything away.\n');
  }

  /** Waits for the pods of `workloads`, checks their `mark`, and keeps them to recognize newer pods later. */
  async #waitForRollouts(client: KubeClient, workloads: readonly DemoWorkload[], mark?: string): Promise<void> {
    for (const workload of workloads) {
      const before = mark === undefined ? undefined : this.#pods.get(workload);
      const pods = await waitForRollout(client, workload, before, this.io.signal);
      const unmarked = [...pods.values()].filter((marks) => mark !== undefined && !marks.includes(mark));
      if (unmarked.length > 0) throw new Error(`a pod of ${nameOf(workload)} lacks ${mark}`);
      this.#pods.set(workload, pods);
    }
  }

  async #checkUntouched(client: KubeClient, workload: DemoWorkload): Promise<void> {
    const pods = await waitForRollout(client, workload, undefined, this.io.signal);
    const before = this.#pods.get(workload);
    if ([...pods.keys()].some((uid) => !before?.has(uid))) throw new Error(`${nameOf(workload)} rolled unasked`);
  }

  #tell(outcome: Outcome): void {
    if (outcome.is !== 'rolled' && outcome.is !== 'replaced') return;
    const { ref } = outcome.workload;
    for (const { ref: source, difference, verdict } of outcome.changes) {
      const what = `${source.kind} ${source.namespace}/${source.name} ${difference}`;
      const who = `${ref.kind} ${ref.namespace}/${ref.name} rolled (${verdict.because})`;
      this.say(`   ${what} ${this.paint('green', ARROW)} ${this.paint('bold', who)}`);
    }
  }

  #log(dir: string): Log {
    const file = logFile(dir, 'attune');
    mkdirSync(dirname(file), { recursive: true });
    const write = (line: string): void => appendFileSync(file, line);
    const log = createLog({ format: '', level: 'info', write, now: systemClock.wall });
    return {
      ...log,
      info: (message, fields) => {
        log.info(message, fields);
        if (!message.includes('will not roll')) return;
        this.say(`   ${this.paint('yellow', message)}\n     to roll: ${fields?.['cure'] ?? ''}`);
      },
    };
  }
}

function introduce({ kind, name, annotations, from }: DemoWorkload): readonly string[] {
  const [asked] = Object.entries(annotations).map(([key, value]) => `${key}: "${value}"`);
  const source = 'configMap' in from ? `ConfigMap ${from.configMap}` : `Secret ${from.secret}`;
  return [nameOf({ kind, name }), `uses ${source}`, asked ?? 'asks for nothing'];
}

const nameOf = ({ kind, name }: Pick<DemoWorkload, 'kind' | 'name'>): string => `${kind.kind} ${name}`;
