import { join } from 'node:path';
import type { BinaryName } from '../binaries/projects.ts';

/** The programs of the control plane, in the order in which they are started. */
export type ControlPlaneComponent = 'etcd' | 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'kwok';

export const API_COMPONENTS: readonly ControlPlaneComponent[] = ['etcd', 'kube-apiserver'];
export const NODE_COMPONENTS: readonly ControlPlaneComponent[] = ['kube-controller-manager', 'kube-scheduler', 'kwok'];

/**
 * etcd knows no users: whoever reaches it may read and write everything. So it listens on sockets in the sandbox's folder,
 * which only its owner may enter. The paths are relative to that folder, in which components run: absolute ones may be
 * longer than a socket's path can be. etcd wants a port in every URL, and takes it as part of the name.
 */
const ETCD_SOCKET = 'etcd.sock:0';
const ETCD_PEER_SOCKET = 'etcd-peer.sock:0';

/** The files of a sandbox's folder. */
export function sandboxFiles(dir: string) {
  const certificates = join(dir, 'certificates');
  return {
    data: join(dir, 'etcd'),
    etcdSockets: [join(dir, ETCD_SOCKET), join(dir, ETCD_PEER_SOCKET)],
    certificates,
    /** The API server makes its own certificate, and appends the certificate authority to it. */
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

export type Ports = Readonly<Record<'api' | 'controllerManager' | 'scheduler', number>>;

export interface ControlPlaneSettings {
  readonly dir: string;
  readonly ports: Ports;
  readonly binaries: Readonly<Partial<Record<BinaryName, string>>>;
  readonly audit: 'metadata' | undefined;
  readonly etcdQuotaBytes: number | undefined;
}

/** The command line of each component. What listens on loopback asks every caller for a credential. */
export function commandLine(component: ControlPlaneComponent, settings: ControlPlaneSettings): readonly string[] {
  const binary = settings.binaries[component];
  if (!binary) throw new Error(`${component} was not looked for`);
  return [binary, ...ARGUMENTS[component](settings)];
}

const ARGUMENTS: Readonly<Record<ControlPlaneComponent, (settings: ControlPlaneSettings) => readonly string[]>> = {
  etcd: ({ dir, etcdQuotaBytes }) => [
    `--data-dir=${sandboxFiles(dir).data}`,
    // A power failure may cost the last second of data, which nobody needs; waiting for the disk would cost time.
    '--unsafe-no-fsync',
    `--listen-client-urls=unix://${ETCD_SOCKET}`,
    `--advertise-client-urls=unix://${ETCD_SOCKET}`,
    `--listen-peer-urls=unix://${ETCD_PEER_SOCKET}`,
    `--initial-advertise-peer-urls=unix://${ETCD_PEER_SOCKET}`,
    `--initial-cluster=default=unix://${ETCD_PEER_SOCKET}`,
    '--log-level=warn',
    ...(etcdQuotaBytes === undefined ? [] : [`--quota-backend-bytes=${etcdQuotaBytes}`]),
  ],
  'kube-apiserver': ({ dir, ports, audit }) => [
    `--etcd-servers=unix://${ETCD_SOCKET}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${ports.api}`,
    '--advertise-address=127.0.0.1',
    // The Service "kubernetes" may not have a loopback address as its endpoint, and nothing in the sandbox uses it.
    '--endpoint-reconciler-type=none',
    `--cert-dir=${sandboxFiles(dir).certificates}`,
    `--token-auth-file=${sandboxFiles(dir).tokens}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-signing-key-file=${sandboxFiles(dir).signingKey}`,
    `--service-account-key-file=${sandboxFiles(dir).verifyingKey}`,
    '--service-cluster-ip-range=10.0.0.0/16',
    '--allow-privileged=true',
    ...(audit
      ? [
          `--audit-policy-file=${sandboxFiles(dir).auditPolicy}`,
          `--audit-log-path=${sandboxFiles(dir).auditLog}`,
          // One file: whoever reads it counts lines.
          '--audit-log-maxsize=0',
        ]
      : []),
  ],
  'kube-controller-manager': ({ dir, ports }) => [
    ...clientFlags(dir, 'kube-controller-manager', ports.controllerManager),
    `--service-account-private-key-file=${sandboxFiles(dir).signingKey}`,
    `--root-ca-file=${sandboxFiles(dir).authority}`,
  ],
  'kube-scheduler': ({ dir, ports }) => clientFlags(dir, 'kube-scheduler', ports.scheduler),
  kwok: ({ dir }) => [
    `--kubeconfig=${sandboxFiles(dir).componentKubeconfig('kwok')}`,
    `--config=${sandboxFiles(dir).stages}`,
    '--manage-all-nodes=true',
    '--node-lease-duration-seconds=40',
    '--node-ip=127.0.0.1',
  ],
};

/** The flags that the controller manager and the scheduler share. */
function clientFlags(dir: string, component: ControlPlaneComponent, port: number): readonly string[] {
  return [
    `--kubeconfig=${sandboxFiles(dir).componentKubeconfig(component)}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${join(dir, 'certificates', component)}`,
    '--leader-elect=false',
    '--kube-api-qps=500',
    '--kube-api-burst=500',
  ];
}
