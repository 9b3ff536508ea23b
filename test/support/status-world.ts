import { expect } from 'vitest';
import { DEFAULT_KEYS } from '../../src/api/annotations.ts';
import type { KubeObject } from '../../src/api/objects.ts';
import type { ReloaderConfigStatus } from '../../src/api/reloader-config/status-fields.ts';
import type { SourceRef } from '../../src/api/sources.ts';
import { ConfigStatuses, type ConfigStatusesDeps } from '../../src/controller/status/config-statuses.ts';
import type { Change } from '../../src/domain/outcome/change.ts';
import type { Outcome } from '../../src/domain/outcome/outcome.ts';
import { parseReloaderConfig } from '../../src/domain/reloader-config/parse-config.ts';
import type { Source } from '../../src/domain/source/source.ts';
import { ReloaderConfigs } from '../../src/model/reloader-configs/reloader-configs.ts';
import { createDigest } from '../../src/runtime/digest.ts';
import { APP, setUp, source, WEB, web } from './engine-world.ts';
import type { Exchange } from './scripted-api.ts';
import { startClient } from './scripted-client.ts';
import { settings } from './settings.ts';

export const CONFIG = { namespace: 'shop', name: 'main' };
export const WEB_SPEC = { watchedResources: { configMaps: ['app'] }, targets: [{ kind: 'Deployment', name: 'web' }] };

const DIGEST = createDigest(new Uint8Array(32));
/** What a status shows of a source, by its data. */
export const shownOf = (data: string, key = 'shop/ConfigMap/app') => ({ [key]: DIGEST.text(`${key} ${data}`) });

interface Stored {
  readonly metadata: KubeObject['metadata'];
  readonly spec: object;
  readonly status?: ReloaderConfigStatus | undefined;
}

export interface StatusOptions
  extends Partial<Pick<ConfigStatusesDeps, 'mayWrite' | 'mayStore' | 'pruned' | 'restart' | 'inScope' | 'listed'>> {
  readonly flags?: readonly string[];
  /** Digests of another writer. */
  readonly left?: Readonly<Record<string, string>>;
  /** That one writes them again and again. */
  readonly isLasting?: boolean;
  /** Answers a write otherwise than a server would; true: it did. */
  readonly answer?: (exchange: Exchange) => boolean;
}

/** Configs on a server that takes their status as a real one does, and what keeps it. */
export async function statusWorld({ flags = [], answer, left: leftAtFirst, isLasting, ...deps }: StatusOptions = {}) {
  const options = settings(flags);
  const configs = new ReloaderConfigs(options);
  const { clock, engine, sources, index } = setUp({ configs, policy: options });
  const stored = new Map<string, Stored>();
  const told: string[] = [];
  const wanted: SourceRef[] = [];
  let version = 100;
  let left = leftAtFirst;
  const { api, client } = await startClient(
    (exchange) => {
      const { pathname } = new URL(exchange.path, 'http://localhost');
      const name = pathname.split('/').at(-2) ?? '';
      const known = stored.get(name);
      const { metadata: given, status } = JSON.parse(exchange.body) as Stored;
      if (answer?.(exchange)) return;
      if (!known) return exchange.status(404, 'NotFound');
      if (given.resourceVersion !== known.metadata.resourceVersion) return exchange.status(409, 'Conflict');
      version += 1;
      const isApplied = exchange.headers['content-type']?.includes('apply');
      if (!isApplied && !isLasting) left = undefined;
      const kept = left && { watchedResourceHashes: { ...left, ...status?.watchedResourceHashes } };
      const metadata = { ...known.metadata, resourceVersion: String(version) };
      const said = isApplied ? status : withoutNulls(known.status, status);
      const next = { ...known, metadata, status: { ...said, ...kept } };
      stored.set(name, next);
      exchange.json(200, next);
    },
    { clock },
  );
  const statuses = new ConfigStatuses({
    ...{ client, clock, configs, engine, sources, index, options },
    listed: { has: () => true },
    inScope: () => true,
    digest: DIGEST,
    mayStore: () => true,
    mayWrite: () => true,
    pruned: () => [],
    restart: () => undefined,
    want: (ref) => wanted.push(ref),
    serverNow: () => clock.wall(),
    report: {
      statusRefused: ({ status }) => told.push(String(status)),
      statusFailed: (key, error) => told.push(`${key} ${String(error)}`),
    },
    ...deps,
  });
  /** The watch brings what is stored. */
  const bring = (name: string): void => {
    const object = stored.get(name);
    if (!object) return;
    const config = parseReloaderConfig(object, DEFAULT_KEYS.ignore);
    configs.put(config);
    statuses.configSeen(config, object.status);
  };
  let term = new AbortController();
  let running = statuses.run(term.signal);
  return {
    ...{ clock, configs, engine, sources, statuses, stored, told, wanted, bring },
    /** Somebody applies a config, or another version of it. */
    apply(spec: object, name = CONFIG.name, more: Partial<Stored> = {}): void {
      const known = stored.get(name);
      version += 1;
      const { generation = 0, uid = `uid-${name}` } = known?.metadata ?? {};
      const creationTimestamp =
        known?.metadata.creationTimestamp ?? `2026-01-01T10:00:${String(stored.size).padStart(2, '0')}Z`;
      const metadata = { namespace: 'shop', name, uid, resourceVersion: String(version), creationTimestamp };
      stored.set(name, { ...known, metadata: { ...metadata, generation: generation + 1 }, spec, ...more });
      bring(name);
    },
    put(next: Source, born = false): void {
      const change = sources.put(next, born);
      engine.sourceChanged(next.ref, change, Number(next.resourceVersion));
      statuses.sourceTouched(next.ref, change);
    },
    /** The data of a source that was listed without it. */
    read(found: Source): void {
      const change = sources.fill(found);
      engine.sourceChanged(found.ref, change, Number(found.resourceVersion));
      statuses.sourceTouched(found.ref, change);
    },
    remove(at: number): void {
      const change = sources.remove(APP, at);
      engine.sourceChanged(APP, change, at);
      statuses.sourceTouched(APP, change);
    },
    workload(at: number): void {
      engine.workloadSeen(web(at, { annotations: { 'reloader.stakater.com/auto': '' } }), 'watch');
      statuses.workloadTouched(WEB);
    },
    /** A write for the changes of `app` that wait had this outcome. */
    outcome(is: 'rolled' | 'refused', error = '', key = WEB): void {
      const state = engine.states.get(key);
      const verdict = state && engine.verdicts.of(state.workload, APP);
      if (!state || !verdict?.reload) throw new Error(verdict?.rule ?? 'no workload');
      const current = sources.current(APP);
      const change: Change = {
        id: 'ConfigMap/app',
        ref: APP,
        verdict,
        difference: 'changed',
        current,
        since: sources.since(APP),
        mark: 'm',
      };
      if (is === 'rolled') engine.settled(state, [change], state.seq + 1, true);
      const about = { workload: state.workload, changes: [change], startedAt: 0 };
      const outcome: Outcome =
        is === 'rolled'
          ? { is, ...about, job: undefined, lastChangeAt: 0 }
          : { is, ...about, error, heldUntil: 'changed or some minutes' };
      statuses.outcome(outcome);
    },
    /** Time passes, in steps, so that what is sent is answered on the way. */
    async pass(ms: number): Promise<void> {
      for (let passed = 0; passed <= ms; passed += 100) {
        await clock.run(Math.min(ms - passed, 100));
        await expect.poll(() => client.inFlight, { interval: 1, timeout: 20_000 }).toBe(0);
        await clock.run(0);
      }
    },
    writes: (name: string = CONFIG.name) => api.requests.filter(({ path }) => path.endsWith(`/${name}/status`)),
    status: (name: string = CONFIG.name): ReloaderConfigStatus => stored.get(name)?.status ?? {},
    async nextTerm(): Promise<void> {
      term.abort();
      await running;
      term = new AbortController();
      running = statuses.run(term.signal);
    },
    async end(): Promise<void> {
      term.abort();
      await running;
    },
  };
}

export type StatusWorld = Awaited<ReturnType<typeof statusWorld>>;

/** A config whose target and source are there. */
export async function settledWorld(options: StatusOptions = {}, spec: object = WEB_SPEC): Promise<StatusWorld> {
  const world = await statusWorld(options);
  world.put(source('A', 5));
  world.engine.begin();
  world.workload(10);
  world.apply(spec);
  await world.pass(200);
  return world;
}

export const conditionOf = ({ conditions = [] }: ReloaderConfigStatus, type: string) =>
  conditions.find((each) => each.type === type);

/** As a merge patch that takes digests away. */
function withoutNulls(known: ReloaderConfigStatus | undefined, patch: ReloaderConfigStatus | undefined) {
  const gone = Object.keys(patch?.watchedResourceHashes ?? {});
  const hashes = Object.entries(known?.watchedResourceHashes ?? {}).filter(([key]) => !gone.includes(key));
  return { ...known, watchedResourceHashes: Object.fromEntries(hashes) };
}
