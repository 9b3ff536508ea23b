/** A RedisCluster as an agent sees it: checked, in the words of the program, without whatever no step reads. */
export interface ClusterView {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly generation: number;
  readonly mode: 'standalone' | 'sentinel' | 'cluster';
  /** `spec.redis` as it is written, in the order of its keys. */
  readonly redis: ReadonlyMap<string, string>;
  readonly memory: { readonly bytes: number | undefined; readonly policy: string | undefined };
  /** Names of Secrets, of which the pod has the projected files. */
  readonly authSecret: string | undefined;
  readonly aclSecret: string | undefined;
  /** Key of the ids by which pods tell each other how far a rotation is. */
  readonly rotationKeySecret: string | undefined;
  readonly tls: boolean;
  readonly replicaMode: ReplicaMode | undefined;
  /** How long an old password, or an old authority, is accepted after everybody uses the new one. */
  readonly overlapMs: number;
  readonly isolation: Isolation;
  /** Keys of `spec.redis`, and `empty-primary`, whose dangerous changes somebody has allowed. */
  readonly allowDangerous: ReadonlySet<string>;
  /** '' or missing: nobody has an opinion. */
  readonly currentPrimary: string;
  /** The entries of all pods, this one's among them, as they were last seen. */
  readonly instances: ReadonlyMap<string, InstanceEntry>;
  /** What is wrong with the object itself, each with the path of its field. */
  readonly problems: readonly Problem[];
}

export interface ReplicaMode {
  readonly promote: boolean;
  readonly host: string;
  readonly port: number;
  readonly authSecret: string | undefined;
}

export interface Isolation {
  readonly enabled: boolean;
  readonly apiServerTimeoutMs: number;
  readonly peerTimeoutMs: number;
}

export interface Problem {
  /** `spec.memory.maxMemory`, or the path of a file. */
  readonly where: string;
  /** What was expected, and what to do; never a secret value. */
  readonly what: string;
}

/** `status.instancesStatus.<pod>`: what a pod says of itself. Other writers may have added further fields. */
export interface InstanceEntry {
  readonly role?: string | undefined;
  readonly connected?: boolean | undefined;
  readonly replicationOffset?: number | undefined;
  readonly connectedReplicas?: number | undefined;
  readonly masterLinkStatus?: string | undefined;
  /** In one word: Running, Starting, Stopped, Fenced, Degraded. */
  readonly state?: string | undefined;
  /** What is wrong, and the way out, for people. */
  readonly message?: string | undefined;
  /** How many keys it holds. */
  readonly keys?: number | undefined;
  readonly observedGeneration?: number | undefined;
  /** By key of `spec.redis`. */
  readonly config?: Readonly<Record<string, KeyStatus>> | undefined;
  readonly credentials?: CredentialStatus | undefined;
  readonly acl?: AclStatus | undefined;
  readonly tls?: TlsStatus | undefined;
}

export interface KeyStatus {
  readonly state: 'Applied' | 'Refused' | 'RestartNeeded';
  /** As Redis reads it back. */
  readonly value?: string | undefined;
  /** Redis's own words, or ours. */
  readonly message?: string | undefined;
}

/**
 * Accepted: the new password opens this Redis, beside the old one. Used: it is also the one for the primary, and was
 * tried there. Settled: the old one is gone.
 */
export type RotationPhase = 'Accepted' | 'Used' | 'Settled';

export interface CredentialStatus {
  /** Stands for the password: keyed, so that nobody can guess it. Missing: there is no key, this pod rotates alone. */
  readonly id?: string | undefined;
  readonly phase?: RotationPhase | undefined;
  /** When the phase began. */
  readonly since?: string | undefined;
  /** What is waited for, or what is wrong. */
  readonly message?: string | undefined;
}

export interface AclStatus {
  readonly state: 'Applied' | 'Refused';
  readonly users?: number | undefined;
  readonly message?: string | undefined;
}

/** Trusted: the new authority counts beside the old one. Served: the new leaf is served. Settled: the old authority is gone. */
export type TrustPhase = 'Trusted' | 'Served' | 'Settled';

export interface TlsStatus {
  readonly state: 'Applied' | 'Refused' | 'Waiting';
  /** SHA-256 of the leaf that a handshake has shown. */
  readonly leaf?: string | undefined;
  readonly notAfter?: string | undefined;
  /** SHA-256 of every authority that this Redis trusts. */
  readonly trusted?: readonly string[] | undefined;
  /** SHA-256 of the authority that has signed the leaf. */
  readonly signedBy?: string | undefined;
  readonly phase?: TrustPhase | undefined;
  readonly since?: string | undefined;
  readonly message?: string | undefined;
}
