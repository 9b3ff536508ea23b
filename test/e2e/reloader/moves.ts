import type { KindName } from '../../../src/api/kinds.ts';
import type { ApiAccess } from '../../../src/sandbox/control-plane/api-request.ts';
import { type Audit, templateIn } from '../../support/audit.ts';
import { type AnyObject, api } from '../../support/sandbox.ts';
import {
  dataOf,
  envFrom,
  isObserved,
  pathOf,
  type SourceName,
  sha1,
  sourceObject,
  type WorkloadOptions,
  workload,
} from '../../support/workloads.ts';

export const AUTO = { 'reloader.stakater.com/auto': 'true' };

type Texts = Readonly<Record<string, string>>;

/** What tests do in a namespace. */
export interface Moves {
  create(kind: KindName, name: string, options?: WorkloadOptions): Promise<AnyObject>;
  /** Of the workload's own metadata; null takes one away. */
  annotate(kind: KindName, name: string, annotations: Readonly<Record<string, string | null>>): Promise<AnyObject>;
  createSource(kind: SourceName['kind'], name: string, data: Texts, annotations?: Texts): Promise<AnyObject>;
  /** All data, nothing else. */
  setData(kind: SourceName['kind'], name: string, data: Texts): Promise<AnyObject>;
  deleteSource(kind: SourceName['kind'], name: string): Promise<unknown>;
  /** A Deployment with `auto` that takes variables from the ConfigMap. */
  createUser(name: string, configMap: string, options?: WorkloadOptions): Promise<AnyObject>;
}

export function movesIn(namespace: string, access?: ApiAccess): Moves {
  const admin = api(access);
  const create: Moves['create'] = (kind, name, options) =>
    admin.create(pathOf(kind, namespace), workload(kind, name, options));
  return {
    create,
    annotate: (kind, name, annotations) => admin.patch(pathOf(kind, namespace, name), { metadata: { annotations } }),
    createSource: (kind, name, data, annotations = {}) => {
      const object = sourceObject(kind, name, data);
      return admin.create(pathOf(kind, namespace), { ...object, metadata: { name, annotations } });
    },
    setData: (kind, name, data) =>
      admin.patch(
        pathOf(kind, namespace, name),
        [{ op: 'add', path: '/data', value: dataOf(kind, data)['data'] }],
        'json',
      ),
    deleteSource: (kind, name) => admin.delete(pathOf(kind, namespace, name)),
    createUser: (name, configMap, options = {}) => {
      const pod = podWith([{ name: 'app', image: 'app', ...envFrom({ kind: 'ConfigMap', name: configMap }) }]);
      return create('Deployment', name, { annotations: AUTO, pod, ...options });
    },
  };
}

export const podWith = (containers: readonly object[]) => ({ containers });

/** The marks of a pod template, as `container/variable`. */
export function marksOf(kind: KindName, object: AnyObject | undefined): Readonly<Record<string, string>> {
  if (!object) return {};
  interface Container {
    readonly name: string;
    readonly env?: readonly { readonly name: string; readonly value?: string }[];
  }
  const containers = templateIn(kind, object)['spec'].containers as readonly Container[];
  return Object.fromEntries(
    containers.flatMap(({ name, env = [] }) =>
      env
        .filter((entry) => entry.name.startsWith('STAKATER_'))
        .map((entry) => [`${name}/${entry.name}`, entry.value ?? '']),
    ),
  );
}

/** Waits until the workload carries the mark of this data, somewhere. */
export function untilMarked(audit: Audit, kind: KindName, name: string, data: Texts): Promise<AnyObject> {
  const hash = sha1(data);
  const isMarked = () => {
    const object = audit.latest(kind, name);
    return object && JSON.stringify(templateIn(kind, object)).includes(hash) && object;
  };
  return audit.until(`the mark ${hash} on ${kind} ${name}`, isMarked);
}

/**
 * Nobody writes to Deployments any more, and the controller knows their last versions: a PATCH is not too late for anybody's
 * status, and needs no second one. Versions of one kind come in their order, so whoever rolls a Deployment that was created
 * afterwards has seen all before it.
 */
export async function untilCalm(audit: Audit, moves: Moves): Promise<void> {
  await audit.until('all Deployments are as wanted', () => audit.all('Deployment').every(isComplete));
  await moves.createSource('ConfigMap', 'last', { value: '1' });
  await moves.createUser('last', 'last');
  await moves.setData('ConfigMap', 'last', { value: '2' });
  await untilMarked(audit, 'Deployment', 'last', { value: '2' });
}

const isComplete = (object: AnyObject): boolean =>
  isObserved(object) &&
  object['status'].conditions?.some(({ reason }: { readonly reason: string }) => reason === 'NewReplicaSetAvailable');

/**
 * Proves that something did not happen: what comes afterwards has happened. Watches tell changes in their order, so when
 * sources changed later have been rolled out twice, an earlier change that were to do something would have done it.
 */
export class Fence {
  readonly #moves: Moves;
  readonly #audit: Audit;
  #round = 0;

  private constructor(namespace: string, audit: Audit, access?: ApiAccess) {
    this.#moves = movesIn(namespace, access);
    this.#audit = audit;
  }

  /** To be put up before the controller starts. The audit must see Deployments. */
  static async in(namespace: string, audit: Audit, annotations: Texts = AUTO, access?: ApiAccess): Promise<Fence> {
    const fence = new Fence(namespace, audit, access);
    await Promise.all(
      FENCES.map(async (source) => {
        await fence.#moves.createSource(source.kind, source.name, { round: '0' });
        const pod = podWith([{ name: 'app', image: 'app', ...envFrom(source) }]);
        await fence.#moves.create('Deployment', source.name, { annotations, pod });
      }),
    );
    return fence;
  }

  async pass(rounds = 2): Promise<void> {
    for (let left = rounds; left > 0; left--) {
      this.#round++;
      const data = { round: String(this.#round) };
      await Promise.all(
        FENCES.map(async ({ kind, name }) => {
          await this.#moves.setData(kind, name, data);
          await untilMarked(this.#audit, 'Deployment', name, data);
        }),
      );
    }
  }
}

const FENCES: readonly SourceName[] = [
  { kind: 'ConfigMap', name: 'fence-configmap' },
  { kind: 'Secret', name: 'fence-secret' },
];
