import { randomBytes } from 'node:crypto';
import type { KindName } from '../../../src/api/kinds.ts';
import type { ReloaderConfigSpec } from '../../../src/api/reloader-config/spec-fields.ts';
import type { ApiAccess } from '../../../src/sandbox/control-plane/api-request.ts';
import { Audit, type AuditedKind } from '../../support/audit.ts';
import { type Controller, type StartOptions, startController } from '../../support/controller.ts';
import { installKinds } from '../../support/crds.ts';
import { type AnyObject, api, controlPlane, namespace } from '../../support/sandbox.ts';
import { until } from '../../support/wait.ts';
import { envFrom, type SourceName } from '../../support/workloads.ts';
import { Fence, type Moves, movesIn, podWith } from '../reloader/moves.ts';

/** A namespace in which ReloaderConfigs are tried. */
export interface Shop {
  readonly name: string;
  readonly moves: Moves;
  readonly audit: Audit;
  /** A workload without annotations; it takes variables from what it uses. */
  target(kind: KindName, name: string, uses?: readonly SourceName[], more?: object): Promise<AnyObject>;
  source(kind: SourceName['kind'], name: string, labels?: Readonly<Record<string, string>>): Promise<AnyObject>;
  config(name: string, spec: ReloaderConfigSpec, annotations?: Readonly<Record<string, string>>): Promise<AnyObject>;
  /** The spec of a config, replaced. */
  edit(name: string, spec: ReloaderConfigSpec): Promise<AnyObject>;
  remove(name: string): Promise<unknown>;
  /** The status tells of this version of a config, so the controller knows it; a fence is of other watches. */
  untilKnown(config: AnyObject): Promise<unknown>;
  /** How often its template was changed. */
  rolls(name: string, kind?: KindName): number;
  untilRolled(name: string, times?: number, kind?: KindName): Promise<unknown>;
}

export interface ConfigWorld extends AsyncDisposable {
  /** Namespaces that are followed. */
  readonly shops: readonly Shop[];
  readonly shop: Shop;
  readonly home: string;
  readonly running: Controller[];
  start(options?: Partial<StartOptions>): Promise<Controller>;
  /** What was changed before has arrived, or does not. */
  fence(): Promise<void>;
  /** What the owner of a namespace says about others. */
  allow(shop: Shop, from: string | null): Promise<AnyObject>;
}

export const configPath = (at: string, name?: string): string =>
  `/apis/reloader.stakater.com/v1alpha1/namespaces/${at}/reloaderconfigs${name === undefined ? '' : `/${name}`}`;

/** Namespaces of its own, and controllers that follow no others, though they could. */
export async function configWorld({
  shops: count = 1,
  flags = [],
  env = {},
  kinds = [],
  access = controlPlane(),
}: {
  readonly shops?: number;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly kinds?: readonly AuditedKind[];
  readonly access?: ApiAccess;
} = {}): Promise<ConfigWorld> {
  await installKinds(['ReloaderConfig', 'Rollout', 'DeploymentConfig'], access);
  const world = `w${randomBytes(4).toString('hex')}`;
  const home = await namespace('config-home', access);
  const shops = await Promise.all(Array.from({ length: count }, () => openShop(world, kinds, access)));
  const [shop] = shops;
  if (!shop) throw new Error('a world has a namespace');
  const fence = await Fence.in(shop.name, shop.audit, undefined, access);
  const running: Controller[] = [];
  return {
    ...{ shops, shop, home, running },
    async start(options = {}) {
      const scope = `--namespace-selector=world=${world}`;
      const started = await startController({
        ...{ home, access, env, ...options },
        flags: [scope, '--is-Argo-Rollouts=true', ...flags, ...(options.flags ?? [])],
      });
      running.push(started);
      return started;
    },
    fence: inTurn(() => fence.pass(1)),
    allow: (to, from) =>
      api(access).patch(`/api/v1/namespaces/${to.name}`, {
        metadata: { annotations: { 'attune.dev/allow-reloads-from': from } },
      }),
    async [Symbol.asyncDispose]() {
      for (const controller of running) await controller[Symbol.asyncDispose]();
      for (const { audit } of shops) await audit[Symbol.asyncDispose]();
    },
  };
}

const AUDITED = ['Deployment', 'StatefulSet', 'DaemonSet', 'CronJob', 'Job', 'Rollout', 'DeploymentConfig'] as const;

async function openShop(world: string, kinds: readonly AuditedKind[], access: ApiAccess): Promise<Shop> {
  const admin = api(access);
  const name = await namespace('config', access);
  await admin.patch(`/api/v1/namespaces/${name}`, { metadata: { labels: { world } } });
  const moves = movesIn(name, access);
  const audit = await Audit.of(name, [...AUDITED, ...kinds], access);
  const rolls = (of: string, kind: KindName = 'Deployment'): number => audit.templates(kind, of).length - 1;
  return {
    ...{ name, moves, audit, rolls },
    target: (kind, of, uses = [], more = {}) => {
      const pod = podWith([
        { name: 'idle', image: 'idle' },
        { name: 'app', image: 'app', envFrom: uses.flatMap((each) => envFrom(each)['envFrom']) },
      ]);
      return moves.create(kind, of, { pod, ...more });
    },
    async source(kind, of, labels) {
      const object = await moves.createSource(kind, of, { value: '1' });
      if (!labels) return object;
      const path = `/api/v1/namespaces/${name}/${kind === 'Secret' ? 'secrets' : 'configmaps'}/${of}`;
      return await admin.patch(path, { metadata: { labels } });
    },
    config: (of, spec, annotations = {}) =>
      admin.create(configPath(name), {
        apiVersion: 'reloader.stakater.com/v1alpha1',
        kind: 'ReloaderConfig',
        metadata: { name: of, annotations },
        spec,
      }),
    edit: (of, spec) => admin.patch(configPath(name, of), [{ op: 'replace', path: '/spec', value: spec }], 'json'),
    remove: (of) => admin.delete(configPath(name, of)),
    untilKnown: ({ metadata: { name: of, generation } }) => {
      const isTold = async () => (await admin.get(configPath(name, of)))['status']?.observedGeneration === generation;
      return until(isTold, { what: `the status of ${of}, generation ${generation}` });
    },
    untilRolled: (of, times = 1, kind = 'Deployment') =>
      audit.until(`${kind} ${of} rolled ${times} times`, () => rolls(of, kind) === times),
  };
}

/** Changes the data of a source to something that it did not have before. */
export const change = (shop: Shop, kind: SourceName['kind'], name: string): Promise<AnyObject> =>
  shop.moves.setData(kind, name, { value: randomBytes(4).toString('hex') });

/** One at a time. Whoever asks while one is under way shares the next. */
function inTurn(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  return () => {
    next ??= running.then(() => {
      next = undefined;
      running = work();
      return running;
    });
    return next;
  };
}
