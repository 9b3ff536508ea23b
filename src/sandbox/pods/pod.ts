import type { KubeObject } from '../../api/objects.ts';

/** The fields of a Pod that the pod runner reads. */
export interface Pod extends KubeObject {
  readonly metadata: KubeObject['metadata'] & {
    readonly namespace: string;
    readonly deletionTimestamp?: string;
    readonly deletionGracePeriodSeconds?: number;
  };
  readonly spec: {
    readonly nodeName?: string;
    readonly serviceAccountName?: string;
    readonly restartPolicy?: 'Always' | 'OnFailure' | 'Never';
    readonly containers: readonly PodContainer[];
    readonly volumes?: readonly PodVolume[];
  };
  readonly status?: { readonly phase?: string };
}

export interface PodContainer {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly PodVariable[];
  readonly envFrom?: readonly {
    readonly prefix?: string;
    readonly configMapRef?: { readonly name: string; readonly optional?: boolean };
    readonly secretRef?: { readonly name: string; readonly optional?: boolean };
  }[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly resources?: { readonly limits?: Quantities; readonly requests?: Quantities };
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly startupProbe?: Probe;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

/** Of the kinds that the pod runner knows; whatever else a volume may be is left out. */
export interface PodVolume {
  readonly name: string;
  readonly emptyDir?: object;
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly secret?: Modes & {
    readonly secretName: string;
    readonly items?: readonly KeyFile[];
    readonly optional?: boolean;
  };
  readonly configMap?: Modes & ObjectFiles;
  readonly projected?: Modes & {
    readonly sources?: readonly { readonly secret?: ObjectFiles; readonly configMap?: ObjectFiles }[];
  };
}

interface Modes {
  readonly defaultMode?: number;
}

/** Which keys of an object become files; without `items` all of them. */
export interface ObjectFiles {
  readonly name: string;
  readonly items?: readonly KeyFile[];
  readonly optional?: boolean;
}

export interface KeyFile {
  readonly key: string;
  readonly path: string;
  readonly mode?: number;
}

type Quantities = Readonly<Record<string, string>>;

export interface PodVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string };
    readonly resourceFieldRef?: ResourceRef;
    readonly configMapKeyRef?: KeyRef;
    readonly secretKeyRef?: KeyRef;
  };
}

export type ResourceRef = { readonly resource: string; readonly divisor?: string };

export interface KeyRef {
  readonly name: string;
  readonly key: string;
  readonly optional?: boolean;
}

export interface Probe {
  readonly httpGet?: { readonly path?: string; readonly port: number | string; readonly scheme?: 'HTTP' | 'HTTPS' };
  readonly tcpSocket?: { readonly port: number | string };
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly successThreshold?: number;
  readonly failureThreshold?: number;
}

/** registry/some/attune:1.0@sha256:… → attune */
export const imageName = (image: string): string => image.replace(/^.*\//, '').replace(/[:@].*$/, '');
