import { createHash } from 'node:crypto';
import { RECORD } from '../../src/api/annotations.ts';
import { runController } from '../../src/controller/controller.ts';
import { aloneLeadership } from '../../src/controller/leadership.ts';
import { Report } from '../../src/controller/report/report.ts';
import { readRecord } from '../../src/domain/ledger/record.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { controllerMetrics } from '../../src/telemetry/metric-tables/controller.ts';
import { settings } from '../support/settings.ts';
import { sha1 } from '../support/workloads.ts';
import { Cluster, type Json } from './cluster.ts';
import { connect, type Faults } from './connection.ts';
import type { Action, Random } from './history.ts';
import { Pods } from './pods.ts';

const SHOP = 'shop';
/** Two names that share a variable, and one of its own. */
export const SOURCES = ['app.cfg', 'app-cfg', 'other'];
const VARIABLES: Readonly<Record<string, string>> = {
  'app.cfg': 'STAKATER_APP_CFG_CONFIGMAP',
  'app-cfg': 'STAKATER_APP_CFG_CONFIGMAP',
  other: 'STAKATER_OTHER_CONFIGMAP',
};
/** By use, by a pattern, and by name: all kinds of asking that find sources in different ways. */
const WORKLOADS = [
  {
    name: 'auto',
    annotations: { 'reloader.stakater.com/auto': 'true' },
    config: { autoReloadAll: true },
    uses: ['app.cfg', 'other'],
  },
  {
    name: 'pattern',
    annotations: { 'configmap.reloader.stakater.com/reload': 'app.*' },
    config: { watchedResources: { configMaps: ['app.*'] } },
    uses: ['app.cfg', 'app-cfg'],
  },
  {
    name: 'named',
    annotations: { 'configmap.reloader.stakater.com/reload': 'other' },
    config: { watchedResources: { configMaps: ['other'] } },
    uses: ['other'],
  },
] as const;
export const WORKLOAD_COUNT = WORKLOADS.length;
const LIST = 'pod-reloader.cs.sap.com/configmaps';
const HASH = 'pod-reloader.cs.sap.com/config-hash';
// Until then every watch that was broken is back.
const BACK_MS = 60_000;

export interface WorldOptions {
  readonly random: Random;
  readonly flags: readonly string[];
  readonly faults: Faults;
  /** In whose words the workloads ask. */
  readonly dialect?: 'stakater' | 'sap' | 'config' | undefined;
}

/** A cluster, a controller on it, and what its pods have. */
export class World {
  readonly cluster = new Cluster();
  /** What happened, in the server's order: for whoever has to find out why. */
  readonly story: string[] = [];
  readonly #options: WorldOptions;
  readonly #pods: Pods;
  readonly #templates = new Map<string, Json[]>();
  #controller: { readonly stop: AbortController; readonly kill: () => void; readonly metrics: string } | undefined;
  #render: () => string = () => '';
  /** When the data of a source, or the template of a workload, last changed. */
  readonly #movedAt = new Map<string, number>();
  /** Everything was listed, and what happens from now on is seen. */
  #isFollowing = false;
  /** When the server was last out of reach. */
  #sightAt = Number.NEGATIVE_INFINITY;
  /** Workloads and sources that came or went before anything was written down about the workload. */
  readonly #untold = new Set<string>();
  /** If we are killed then, there is no trace of whether the source was there when the workload began. */
  readonly #traceless = new Set<string>();
  #writes = 0;
  #surplus = 0;
  /** Writes that must never be, whatever happens. */
  readonly #wrongWrites: string[] = [];

  constructor(options: WorldOptions) {
    this.#options = options;
    this.#pods = new Pods(this.cluster, options.random);
    this.cluster.onWrite(({ plural, after }) => {
      if (plural !== 'deployments' || !after) return;
      const templates = this.#templates.get(after.metadata.name) ?? [];
      if (JSON.stringify(templates.at(-1)) !== JSON.stringify(after.spec.template)) templates.push(after.spec.template);
      this.#templates.set(after.metadata.name, templates);
    });
    this.cluster.onWrite(({ before, after }) => {
      const textOf = (object: Json): string => JSON.stringify([object?.data, object?.spec?.template]);
      const { name } = (after ?? before).metadata;
      if (textOf(before) !== textOf(after)) this.#movedAt.set(name, this.cluster.version);
    });
    this.cluster.onWrite(({ plural, before, after }) => {
      // An edit in the very second of the creation leaves no time of its own.
      const bornMs = Date.parse((after ?? before).metadata.creationTimestamp);
      const isEdited = before && after && this.cluster.clock.wall() - bornMs > 1000;
      if (plural !== 'configmaps' || isEdited) return;
      for (const uid of this.#unwritten()) this.#untold.add(`${uid} ${(after ?? before).metadata.name}`);
    });
    this.cluster.onWrite(({ plural, before, after }) => {
      const { metadata, data, spec, status } = after ?? {};
      if (plural === 'configmaps') this.#tell(`${(after ?? before).metadata.name} ${data?.value ?? data?.ledger}`);
      if (plural !== 'deployments' || !after) return;
      const { env, image } = spec.template.spec.containers[0];
      const marks = [...env.map(({ name, value }: Json) => `${name.slice(9, 12)}=${value.slice(0, 4)}`)];
      const annotations = JSON.stringify(spec.template.metadata.annotations ?? {});
      const isComing = status.observedGeneration === metadata.generation ? '' : 'coming';
      this.#tell(`${metadata.name} ${image} ${marks} ${annotations} ${spec.paused ? 'paused' : ''} ${isComing}`);
    });
    for (const name of SOURCES) this.cluster.create('configmaps', SHOP, { metadata: { name }, data: { value: 'a' } });
    for (const at of WORKLOADS.keys()) this.#createWorkload(at);
    if (options.dialect !== 'config') return;
    for (const { name, config } of WORKLOADS) {
      const spec = { ...config, targets: [{ kind: 'Deployment', name }] };
      this.cluster.create('reloaderconfigs', SHOP, { metadata: { name }, spec });
    }
  }

  async play(history: readonly Action[]): Promise<void> {
    this.#start();
    await this.cluster.clock.run(5000);
    for (const action of history) {
      this.#tell(JSON.stringify(action));
      await this.#act(action);
      await this.cluster.clock.run(action.do === 'wait' ? action.ms : 1);
    }
    if (this.cluster.isBlind) this.cluster.setBlind(false);
    if (!this.#controller) this.#start();
    await this.cluster.clock.run(5000);
  }

  /** What is still wrong when everything has come to rest, and is not visibly undelivered. */
  async atRest() {
    for (const { name } of WORKLOADS) {
      this.cluster.update('deployments', SHOP, name, ({ spec, ...object }) => ({
        ...object,
        spec: spec.paused ? { ...spec, paused: false } : spec,
      }));
    }
    await this.cluster.clock.run(600_000);
    const undelivered = Number(/^attune_undelivered_changes (\d+)/m.exec(this.#render())?.[1] ?? 0);
    const wrong = WORKLOADS.flatMap(({ name }) => {
      const { uid } = this.cluster.find('deployments', SHOP, name).metadata;
      const outdated = this.#pods.outdated(SHOP, name);
      const traced = outdated.filter((what) => !this.#traceless.has(`${uid} ${what.split(':')[0]}`));
      return traced.map((what) => `${name} has ${what}`);
    });
    const died = this.story.filter((line) => line.includes('died'));
    return {
      lost: undelivered > 0 ? died : [...wrong, ...died],
      /** Another writer is told to have undone what we did. */
      alarms: this.story.filter((line) => line.includes('removed the mark')),
      wrongWrites: this.#wrongWrites,
      surplus: this.#surplus,
      writes: this.#writes,
      story: this.story,
    };
  }

  async end(): Promise<void> {
    this.#controller?.kill();
    this.#controller?.stop.abort(new Error('over'));
    await this.cluster.clock.run(1);
  }

  async #act(action: Action): Promise<void> {
    const { cluster } = this;
    const name = 'source' in action ? (SOURCES[action.source] ?? '') : '';
    switch (action.do) {
      case 'data':
        if (this.#has(name)) cluster.patch('configmaps', SHOP, name, { data: { value: action.value } });
        else if (this.#isLooking())
          cluster.create('configmaps', SHOP, { metadata: { name }, data: { value: action.value } });
        break;
      case 'label':
        if (this.#has(name)) cluster.patch('configmaps', SHOP, name, { metadata: { labels: { of: action.value } } });
        break;
      case 'gone':
        if (this.#has(name) && this.#isLooking()) cluster.delete('configmaps', SHOP, name);
        break;
      case 'down':
        this.#controller?.kill();
        this.#controller?.stop.abort(new Error('killed'));
        this.#controller = undefined;
        this.#isFollowing = false;
        break;
      case 'up':
        if (!this.#controller) this.#start();
        break;
      case 'blind':
        cluster.setBlind(true);
        break;
      case 'sight':
        cluster.setBlind(false);
        this.#sightAt = cluster.clock.now();
        break;
      case 'wait':
        break;
      default:
        this.#touch(action);
    }
  }

  /**
   * Whether somebody sees what comes and goes. What comes and goes while nobody looks leaves no trace, or one of a second: what
   * of it can be known is told by tests of its own.
   */
  #isLooking(): boolean {
    return this.#isFollowing && !this.cluster.isBlind && this.cluster.clock.now() > this.#sightAt + BACK_MS;
  }

  /** Workloads of which nothing is written down, while sources come and go. */
  #unwritten(): readonly string[] {
    const ledger = JSON.stringify(this.cluster.all('configmaps', 'home').map(({ data }) => data));
    const uids = this.cluster.all('deployments', SHOP).map(({ metadata }): string => metadata.uid);
    return uids.filter((uid) => !ledger.includes(uid));
  }

  #has(name: string): boolean {
    return this.cluster.find('configmaps', SHOP, name) !== undefined;
  }

  #touch(action: Extract<Action, { readonly workload: number }>): void {
    const { name, uses } = WORKLOADS[action.workload] ?? WORKLOADS[0];
    const edit = (change: (object: Json) => void): void => {
      this.cluster.update('deployments', SHOP, name, (object) => {
        change(object);
        return object;
      });
    };
    switch (action.do) {
      case 'image':
        edit(({ spec }) => Object.assign(spec.template.spec.containers[0], { image: action.value }));
        break;
      case 'undo': {
        const before = this.#templates.get(name)?.at(-2);
        if (before) edit((object) => Object.assign(object.spec, { template: structuredClone(before) }));
        break;
      }
      case 'strip':
        edit(({ spec }) => {
          delete spec.template.metadata.annotations;
          spec.template.spec.containers[0].env = [];
        });
        break;
      case 'relay':
        edit(({ spec }) => {
          if (this.#options.dialect === 'sap') {
            spec.template.metadata.annotations = { ...spec.template.metadata.annotations, [HASH]: this.#sapHash(uses) };
            return;
          }
          const [container] = spec.template.spec.containers;
          const marks = uses.map((use) => [VARIABLES[use], sha1(this.cluster.find('configmaps', SHOP, use).data)]);
          const env = Object.fromEntries(container.env.map(({ name: key, value }: Json) => [key, value]));
          container.env = Object.entries({ ...env, ...Object.fromEntries(marks) }).map(([key, value]) => ({
            name: key,
            value,
          }));
        });
        break;
      case 'scale':
        edit(({ spec }) => Object.assign(spec, { replicas: action.value }));
        break;
      case 'pause':
        edit(({ spec }) => Object.assign(spec, { paused: action.value }));
        break;
      case 'config':
        if (this.cluster.find('reloaderconfigs', SHOP, name))
          this.cluster.patch('reloaderconfigs', SHOP, name, { spec: { alerts: action.value } });
        break;
      case 'recreate':
        this.cluster.delete('deployments', SHOP, name);
        this.#createWorkload(action.workload);
        break;
      default:
        action satisfies never;
    }
  }

  /** Whether the template came after all data that it uses: then everybody can know that its pods have it. */
  #isInOrder(name: string): boolean {
    const { uses } = WORKLOADS.find((each) => each.name === name) ?? WORKLOADS[0];
    const changed = uses.map((use) => this.#movedAt.get(use) ?? 0);
    return changed.every((version) => version < (this.#movedAt.get(name) ?? 0));
  }

  /** By version, as SAP's own program. */
  #sapHash(uses: readonly string[]): string {
    const lines = uses.map((use) => {
      const { uid, resourceVersion } = this.cluster.find('configmaps', SHOP, use)?.metadata ?? {};
      return `configmap/${SHOP}/${use}/${uid === undefined ? '' : `${uid}.${resourceVersion}`}\n`;
    });
    return createHash('sha256').update(lines.join('')).digest('hex');
  }

  #tell(what: string): void {
    this.story.push(`${this.cluster.version} ${what}`);
  }

  #createWorkload(at: number): void {
    const { name, annotations: stakaters, uses } = WORKLOADS[at] ?? WORKLOADS[0];
    const { dialect } = this.#options;
    const annotations = dialect === 'sap' ? { [LIST]: uses.join(', ') } : dialect === 'config' ? {} : stakaters;
    // What is named by a pattern is read in a way that nobody sees.
    const isSeen = name !== 'pattern';
    const envFrom = isSeen ? uses.map((use) => ({ configMapRef: { name: use } })) : [];
    const template = {
      metadata: isSeen ? {} : { labels: { reads: uses.join(' ') } },
      spec: { containers: [{ name: 'app', image: 'v1', env: [], envFrom }] },
    };
    this.cluster.create('deployments', SHOP, {
      metadata: { name, annotations },
      spec: { replicas: 1, template },
      status: {},
    });
  }

  #start(): void {
    for (const pair of this.#untold) {
      if (this.#unwritten().includes(pair.split(' ')[0] ?? '')) this.#traceless.add(pair);
    }
    const { faults, flags } = this.#options;
    const { client, kill } = connect(this.cluster, {
      ...faults,
      beforePatch: (plural, name) => {
        if (plural !== 'deployments') return;
        this.#writes += 1;
        if (this.#pods.outdated(SHOP, name).length === 0 && this.#isInOrder(name)) {
          this.#surplus += 1;
          this.#tell(`surplus: ${name}`);
        }
      },
      patched: (plural, before, after) => {
        if (plural === 'deployments') this.#wrongWrites.push(...wrongIn(before, after));
      },
    });
    const stop = new AbortController();
    const options = settings(
      ['--namespaces=shop', '--ignored-workload-types=jobs,cronjobs', '--resources-to-ignore=secrets', ...flags],
      {
        POD_NAMESPACE: 'home',
      },
    );
    const { clock } = this.cluster;
    const metrics = controllerMetrics({ byNamespace: false });
    const write = (line: string): void => {
      this.#isFollowing ||= line.includes('sources are watched');
      this.#tell(line.trim());
    };
    const log = createLog({ format: '', level: 'info', write, now: () => clock.wall() });
    const leadership = aloneLeadership();
    const nothing = (): void => {};
    const report = new Report({
      log,
      metrics,
      clock,
      compat: false,
      post: nothing,
      alert: nothing,
      mayTell: () => leadership.mayWrite(),
      ending: stop.signal,
    });
    const deps = {
      options,
      client,
      clock,
      log,
      metrics,
      report,
      leadership,
      notify: undefined,
      onReady: nothing,
      onUnready: nothing,
    };
    this.#controller = { stop, kill, metrics: '' };
    this.#render = () => metrics.render();
    runController(deps, stop.signal).catch((error: unknown) => {
      if (!stop.signal.aborted) this.#tell(`died: ${error instanceof Error ? (error.stack ?? '') : String(error)}`);
    });
  }
}

/** A write of ours changes the template, and its record has a higher number than the one before. */
function wrongIn(before: Json, after: Json): string[] {
  const { name } = after.metadata;
  const seqOf = ({ metadata }: Json): number => readRecord(metadata.annotations?.[RECORD])?.seq ?? 0;
  return [
    ...(JSON.stringify(before.spec.template) === JSON.stringify(after.spec.template)
      ? [`${name}: nothing changed`]
      : []),
    ...(seqOf(after) <= seqOf(before) ? [`${name}: record ${seqOf(after)} after ${seqOf(before)}`] : []),
  ];
}
