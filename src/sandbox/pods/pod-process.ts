import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { DataObject } from '../../api/objects.ts';
import { CONFIG_MAPS, PODS, SECRETS } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { type ApiAccess, apiRequest } from '../control-plane/api-request.ts';
import { writeKubeconfig } from '../control-plane/write-kubeconfig.ts';
import type { Environment } from '../folders.ts';
import type { Say } from '../progress.ts';
import { ContainerProcess, now } from './container-process.ts';
import { imageName, type Pod, type PodContainer } from './pod.ts';
import { podEnvironment } from './pod-environment.ts';
import { PodVolumes, relocated } from './pod-volumes.ts';

/** What all pods of a pod runner share. */
export interface PodHost {
  readonly client: KubeClient;
  /** The access of an administrator. */
  readonly access: ApiAccess;
  /** The sandbox's folder, with the pid files and logs of the processes. */
  readonly dir: string;
  /** Names of the images whose containers run as processes. */
  readonly images: readonly string[];
  /** The command line that is run instead of the image's program. */
  readonly program: readonly string[];
  /** Further images, by their names, whose program is another one, and which use volumes. */
  readonly programs?: Readonly<Record<string, ImageProgram>> | undefined;
  readonly env: Environment;
  readonly say: Say;
}

/** What stands for an image. */
export interface ImageProgram {
  readonly argv: readonly string[];
  /** By a path of the image: the variable that tells the program another one. */
  readonly paths: Readonly<Record<string, string>>;
}

/** Whether containers of this image run as processes. */
export const isOurs = ({ images, programs = {} }: PodHost, image: string): boolean =>
  images.includes(imageName(image)) || Object.hasOwn(programs, imageName(image));

/** The pause after a request that the API server refused. */
const RETRY_MS = 200;
/** Longer than any test, and than a sandbox that runs for some days: tokens are not renewed. */
const TOKEN_SECONDS = 7 * 24 * 3600;

/** Runs the containers of a pod as processes of this machine: as much of a kubelet as our own program needs. */
export class PodProcess {
  readonly #host: PodHost;
  readonly #pod: Pod;
  readonly #ip: string;
  readonly #folder: string;
  readonly #stopping = new AbortController();
  readonly #containers: readonly ContainerProcess[];
  /** Of a pod that has a container with volumes. */
  readonly #volumes: PodVolumes | undefined;
  readonly #startTime = now();
  #readySince: { readonly ready: boolean; readonly time: string } = { ready: false, time: now() };
  #finished: Promise<void> = Promise.resolve();
  #dirty = false;
  #writing: Promise<void> | undefined;

  constructor(host: PodHost, pod: Pod) {
    this.#host = host;
    this.#pod = pod;
    this.#ip = loopbackAddress(pod.metadata.uid);
    this.#folder = join(host.dir, 'pods', pod.metadata.uid);
    const own = pod.spec.containers.filter(({ image }) => isOurs(host, image));
    const expected = (spec: PodContainer) => Object.keys(this.#programOf(spec)?.paths ?? {});
    this.#volumes = own.some((spec) => this.#programOf(spec))
      ? new PodVolumes(host.dir, pod, (kind, name) => this.#read(kind, name), expected)
      : undefined;
    this.#containers = own.map((spec) => this.#container(spec));
  }

  /** Starts the containers, and keeps the pod's status up to date. */
  start(): void {
    const { namespace, name } = this.#pod.metadata;
    this.#finished = this.#run().catch((error: unknown) => {
      if (!this.#stopping.signal.aborted) this.#host.say(`pod ${namespace}/${name}: ${(error as Error).message}`);
    });
  }

  /** Ends the processes; with `graceMs` 0 at once. The pod object stays as it is. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort();
    await this.#finished;
    await Promise.all(this.#containers.map((container) => container.stop(graceMs)));
    await this.#writing;
    this.#volumes?.remove();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Ends the processes within the grace period, and confirms the deletion to the API server. */
  async delete(graceSeconds: number): Promise<void> {
    await this.stop(graceSeconds * 1000);
    const { namespace, name, uid } = this.#pod.metadata;
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, preconditions: { uid } };
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
    const { status, text } = await apiRequest(this.#host.access, 'DELETE', path, { body });
    // 404 and 409: the pod is gone, or there is another one of the same name.
    if (status >= 300 && status !== 404 && status !== 409) throw new Error(`DELETE ${path}: ${status} ${text}`);
  }

  async #run(): Promise<void> {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const token = await this.#token();
    if (token === undefined) return;
    const { namespace } = this.#pod.metadata;
    writeKubeconfig(join(this.#folder, 'kubeconfig'), 'pod', { ...this.#host.access, token, namespace });
    const { signal } = this.#stopping;
    await this.#volumes?.prepare(signal, (why) =>
      this.#host.say(`pod ${namespace}/${this.#pod.metadata.name}: ${why}`),
    );
    await Promise.all([...this.#containers.map((container) => container.run(signal)), this.#volumes?.follow(signal)]);
  }

  /** Undefined if the pod is stopped before the API server has granted a token. */
  async #token(): Promise<string | undefined> {
    const { metadata, spec } = this.#pod;
    const account = { namespace: metadata.namespace, name: spec.serviceAccountName ?? 'default' };
    while (!this.#stopping.signal.aborted) {
      try {
        return await this.#host.client.requestToken(account, TOKEN_SECONDS);
      } catch (error) {
        if (!KubeError.is(error)) throw error;
        await delay(RETRY_MS);
      }
    }
    return undefined;
  }

  #programOf({ image }: PodContainer): ImageProgram | undefined {
    const { programs = {} } = this.#host;
    return Object.hasOwn(programs, imageName(image)) ? programs[imageName(image)] : undefined;
  }

  #container(spec: PodContainer): ContainerProcess {
    const { metadata } = this.#pod;
    const { dir, program, env } = this.#host;
    const other = this.#programOf(spec);
    const folders = (other && this.#volumes?.folders(spec)) ?? new Map<string, string>();
    const places = Object.entries(other?.paths ?? {}).map(([path, variable]) => [variable, folders.get(path)]);
    return new ContainerProcess(spec, {
      dir,
      name: `pod.${metadata.namespace}.${metadata.name}.${spec.name}`,
      program: other?.argv ?? program,
      host: this.#ip,
      restartPolicy: this.#pod.spec.restartPolicy ?? 'Always',
      baseEnv: {
        PATH: env['PATH'],
        HOME: this.#folder,
        HOSTNAME: metadata.name,
        KUBECONFIG: join(this.#folder, 'kubeconfig'),
        ATTUNE_LISTEN_ADDRESS: this.#ip,
        ...Object.fromEntries(places),
      },
      relocate: (text) => relocated(text, folders),
      variables: () => podEnvironment(this.#pod, spec, this.#ip, (kind, name) => this.#texts(kind, name)),
      changed: () => this.#writeStatus(),
    });
  }

  async #texts(kind: 'ConfigMap' | 'Secret', name: string): Promise<Record<string, string> | undefined> {
    const data = await this.#read(kind, name);
    return data && Object.fromEntries(Object.entries(data).map(([key, bytes]) => [key, bytes.toString()]));
  }

  async #read(kind: 'ConfigMap' | 'Secret', name: string): Promise<Record<string, Buffer> | undefined> {
    const resource = kind === 'Secret' ? SECRETS : CONFIG_MAPS;
    const { namespace } = this.#pod.metadata;
    try {
      const { data } = await this.#host.client.get<DataObject>(resource, { namespace, name });
      const encoding = kind === 'Secret' ? 'base64' : 'utf8';
      return Object.fromEntries(Object.entries(data ?? {}).map(([key, value]) => [key, Buffer.from(value, encoding)]));
    } catch (error) {
      if (KubeError.is(error) && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Writes the newest status, one write at a time; what changes meanwhile goes into the next write. */
  #writeStatus(): void {
    this.#dirty = true;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
  }

  async #write(): Promise<void> {
    const { namespace, name, uid } = this.#pod.metadata;
    while (this.#dirty) {
      this.#dirty = false;
      const body = { metadata: { uid }, status: this.#status() };
      try {
        await this.#host.client.patch(PODS, { namespace, name }, body, { type: 'strategic', subresource: 'status' });
      } catch (error) {
        // The pod is gone, or there is another one of the same name.
        if (KubeError.is(error) && (error.status === 404 || error.status === 409)) return;
        if (this.#stopping.signal.aborted) return;
        this.#dirty = true;
        await delay(RETRY_MS);
      }
    }
  }

  #status(): object {
    const ready = this.#containers.every((container) => container.ready);
    if (ready !== this.#readySince.ready) this.#readySince = { ready, time: now() };
    const status = ready ? 'True' : 'False';
    const lastTransitionTime = this.#readySince.time;
    return {
      phase: this.#phase(),
      startTime: this.#startTime,
      hostIP: '127.0.0.1',
      podIP: this.#ip,
      podIPs: [{ ip: this.#ip }],
      conditions: [
        { type: 'Initialized', status: 'True', lastTransitionTime: this.#startTime },
        { type: 'ContainersReady', status, lastTransitionTime },
        { type: 'Ready', status, lastTransitionTime },
      ],
      containerStatuses: this.#containers.map((container) => container.status),
    };
  }

  #phase(): string {
    const codes = this.#containers.map((container) => container.exitCode);
    if (codes.some((code) => code === undefined)) return 'Running';
    return codes.every((code) => code === 0) ? 'Succeeded' : 'Failed';
  }
}

/** A loopback address for this pod alone, so that two replicas can listen on the same port. */
export function loopbackAddress(uid: string): string {
  const digits = uid.replaceAll('-', '').padEnd(32, '0');
  const byte = (at: number) => Number.parseInt(digits.slice(at, at + 2), 16);
  // Not 127.0.x.y, where other programs listen, and nothing that ends in .0 or .255.
  return `127.${1 + (byte(0) % 254)}.${byte(2)}.${1 + (byte(4) % 254)}`;
}
