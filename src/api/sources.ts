export type SourceKind = 'ConfigMap' | 'Secret' | 'SecretProviderClass';

export const SOURCE_KINDS: readonly SourceKind[] = ['ConfigMap', 'Secret', 'SecretProviderClass'];

/** How Stakater Reloader spells the kinds, in names of variables, annotations, Events and alerts. */
export const SOURCE_TYPE: Readonly<Record<SourceKind, 'CONFIGMAP' | 'SECRET' | 'SECRETPROVIDERCLASS'>> = {
  ConfigMap: 'CONFIGMAP',
  Secret: 'SECRET',
  SecretProviderClass: 'SECRETPROVIDERCLASS',
};

export interface SourceRef {
  readonly kind: SourceKind;
  readonly namespace: string;
  readonly name: string;
}

export type SourceKey = `${SourceKind}/${string}/${string}`;

export const sourceKey = (ref: SourceRef): SourceKey => `${ref.kind}/${ref.namespace}/${ref.name}`;
