/** The fields of Kubernetes objects that we read; JSON from the API server has these types and further fields. */
interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly managedFields?: readonly { readonly time?: string; readonly fieldsV1?: Readonly<Record<string, unknown>> }[];
}

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

/** ConfigMap: `data` is text, `binaryData` base64. Secret: `data` is base64. */
export interface DataObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>> | null;
  readonly binaryData?: Readonly<Record<string, string>> | null;
}

export interface SecretProviderClassPodStatus extends KubeObject {
  readonly status?: {
    readonly secretProviderClassName?: string;
    readonly podName?: string;
    readonly objects?: readonly { readonly id?: string; readonly version?: string }[] | null;
  };
}

interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly configMapKeyRef?: { readonly name?: string };
    readonly secretKeyRef?: { readonly name?: string };
  };
}

interface Container {
  readonly name: string;
  readonly env?: readonly EnvVar[] | null;
  readonly envFrom?:
    | readonly { readonly configMapRef?: { readonly name?: string }; readonly secretRef?: { readonly name?: string } }[]
    | null;
  readonly volumeMounts?: readonly { readonly name: string }[] | null;
}

interface Volume {
  readonly name: string;
  readonly configMap?: { readonly name?: string };
  readonly secret?: { readonly secretName?: string };
  readonly projected?: {
    readonly sources?:
      | readonly { readonly configMap?: { readonly name?: string }; readonly secret?: { readonly name?: string } }[]
      | null;
  };
  readonly csi?: { readonly volumeAttributes?: Readonly<Record<string, string>> };
}

export interface PodTemplate {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: {
    readonly containers?: readonly Container[] | null;
    readonly initContainers?: readonly Container[] | null;
    readonly volumes?: readonly Volume[] | null;
    readonly imagePullSecrets?: readonly { readonly name?: string }[] | null;
  };
}
