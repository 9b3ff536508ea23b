import { join } from 'node:path';
import type { BinaryName } from '../binaries/pins.ts';

/** The processes of a sandbox, in the order in which they are started. */
export type ControlPlaneComponent = 'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'kwok';

export const API_COMPONENTS: readonly ControlPlaneComponent[] = ['etcd', 'kube-apiserver'];
export const NODE_COMPONENTS: readonly ControlPlaneComponent[] = ['kube-controller-manager', 'kube-scheduler', 'kwok'];

/** The files of a sandbox's folder. */
export function layout(dir: string) {
  const certificates = join(dir, 'certificates');
  return {
    data: join(dir, 'etcd'),
    certificates,
    /** The API server makes its own certificate and puts its authority into the same file. */
    authority: join(certificates, 'apiserver.crt'),
    signingKey: join(dir, 'service-accounts.key'),
    verifyingKey: join(dir, 'service-accounts.pub'),
    tokens: join(dir, 'tokens.csv'),
    kubeconfig: join(dir, 'kubeconfig'),
    componentKubeconfig: (component: string) => join(dir, `${component}.kubeconfig`),
    auditPolicy: join(dir, 'audit-policy.json'),
    auditLog: join(dir, 'audit.log'),
    stages: join(dir, 'stages.yaml'),
  } as const;
}

export interface Ports {
  readonly etcdClient: number;
  readonly etcdPeer: number;
  readonly api: number;
  readonly controllerManager: number;
  readonly scheduler: number;
}

export interface ControlPlaneSettings {
  readonly dir: string;
  readonly ports: Ports;
  readonly binaries: Readonly<Partial<Record<BinaryName, string>>>;
  readonly audit: 'metadata' | undefined;
  readonly etcdQuotaBytes: number | undefined;
}

/** The command line of each component. Everything listens on loopback only. */
export function commandLine(component: ControlPlaneComponent, settings: ControlPlaneSettings): readonly string[] {
  const binary = settings.binaries[component];
  if (!binary) throw new Error(`${component} was not looked for`);
  return [binary, ...ARGUMENTS[component](settings)];
}

export function etcdUrl(ports: Ports): string {
  return `http://127.0.0.1:${ports.etcdClient}`;
}

const ARGUMENTS: Readonly<Record<ControlPlaneComponent, (settings: ControlPlaneSettings) => readonly string[]>> = {
  etcd: ({ dir, ports, etcdQuotaBytes }) => [
    `--data-dir=${layout(dir).data}`,
    // Nobody's data lives here: losing the last second with the machine's power is fine, waiting for the disk is not.
    '--unsafe-no-fsync',
    `--listen-client-urls=${etcdUrl(ports)}`,
    `--advertise-client-urls=${etcdUrl(ports)}`,
    `--listen-peer-urls=http://127.0.0.1:${ports.etcdPeer}`,
    `--initial-advertise-peer-urls=http://127.0.0.1:${ports.etcdPeer}`,
    `--initial-cluster=default=http://127.0.0.1:${ports.etcdPeer}`,
    '--log-level=warn',
    ...(etcdQuotaBytes === undefined ? [] : [`--quota-backend-bytes=${etcdQuotaBytes}`]),
  ],
  'kube-apiserver': ({ dir, ports, audit }) => [
    `--etcd-servers=${etcdUrl(ports)}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${ports.api}`,
    '--advertise-address=127.0.0.1',
    // The Service "kubernetes" may not have a loopback endpoint, and nothing in the sandbox goes through it.
    '--endpoint-reconciler-type=none',
    `--cert-dir=${layout(dir).certificates}`,
    `--token-auth-file=${layout(dir).tokens}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-signing-key-file=${layout(dir).signingKey}`,
    `--service-account-key-file=${layout(dir).verifyingKey}`,
    '--service-cluster-ip-range=10.0.0.0/16',
    '--allow-privileged=true',
    ...(audit ? [`--audit-policy-file=${layout(dir).auditPolicy}`, `--audit-log-path=${layout(dir).auditLog}`] : []),
  ],
  'kube-controller-manager': ({ dir, ports }) => [
    ...client(dir, 'kube-controller-manager', ports.controllerManager),
    `--service-account-private-key-file=${layout(dir).signingKey}`,
    `--root-ca-file=${layout(dir).authority}`,
  ],
  'kube-scheduler': ({ dir, ports }) => client(dir, 'kube-scheduler', ports.scheduler),
  kwok: ({ dir }) => [
    `--kubeconfig=${layout(dir).componentKubeconfig('kwok')}`,
    `--config=${layout(dir).stages}`,
    '--manage-all-nodes=true',
    '--node-lease-duration-seconds=40',
    '--node-ip=127.0.0.1',
  ],
};

/** What the two Kubernetes programs that are clients of the API server have in common. */
function client(dir: string, component: ControlPlaneComponent, port: number): readonly string[] {
  const kubeconfig = layout(dir).componentKubeconfig(component);
  return [
    `--kubeconfig=${kubeconfig}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${join(dir, 'certificates', component)}`,
    '--leader-elect=false',
    '--kube-api-qps=500',
    '--kube-api-burst=500',
  ];
}
