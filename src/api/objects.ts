/** The fields of Kubernetes objects that we read; JSON from the API server has these types and further fields. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation?: number;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly {
      readonly manager?: string;
      readonly time?: string;
      readonly fieldsV1?: Readonly<Record<string, unknown>>;
    }[];
  };
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
