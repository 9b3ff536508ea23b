/** The programs of the sandbox: the projects that publish them, in which version and where. */

export type ProjectName = 'etcd' | 'kubernetes' | 'kwok' | 'helm';

export const BINARY_NAMES = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubectl',
  'kwok',
  'helm',
] as const;
export type BinaryName = (typeof BINARY_NAMES)[number];

export const isBinaryName = (name: string): name is BinaryName => BINARY_NAMES.some((known) => known === name);

/** One published file. */
export interface Release {
  readonly url: string;
  /** If the file is an archive: the path of the program inside. */
  readonly member?: string;
}

interface Project {
  readonly version: string;
  /** The Go package of each program. The Go module in go/<project> pins their version. */
  readonly packages: Partial<Readonly<Record<BinaryName, string>>>;
  /** Flags of Go's linker. */
  readonly linkerFlags: string;
  /** How long Go takes to build all of them on two cores, with nothing in its cache. */
  readonly buildMinutes: { readonly least: number; readonly most: number };
  /** Undefined if nothing is published for this platform. */
  release(sites: ReleaseSites, binary: BinaryName, platform: ReturnType<typeof thisPlatform>): Release | undefined;
}

/** The servers that publish releases; tests run servers of their own instead. */
export const RELEASE_SITES = {
  kubernetes: 'https://dl.k8s.io',
  helm: 'https://get.helm.sh',
  github: 'https://github.com',
};
export type ReleaseSites = Readonly<typeof RELEASE_SITES>;

const KUBERNETES = '1.36.3';
const ETCD = '3.6.13';
const KWOK = '0.8.0';
const HELM = '3.22.0';

export const PROJECTS: Readonly<Record<ProjectName, Project>> = {
  etcd: {
    version: ETCD,
    packages: { etcd: 'go.etcd.io/etcd/server/v3' },
    linkerFlags: '-s -w',
    buildMinutes: { least: 1, most: 2 },
    release(sites, _binary, { os, arch }) {
      const name = `etcd-v${ETCD}-${os}-${arch}`;
      const folder = `${sites.github}/etcd-io/etcd/releases/download/v${ETCD}`;
      return {
        url: `${folder}/${name}.${os === 'linux' ? 'tar.gz' : 'zip'}`,
        member: `${name}/etcd`,
      };
    },
  },
  kubernetes: {
    version: KUBERNETES,
    packages: {
      'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
      'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
      'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler',
      kubectl: 'k8s.io/kubernetes/cmd/kubectl',
    },
    linkerFlags: kubernetesLinkerFlags(KUBERNETES),
    buildMinutes: { least: 6, most: 10 },
    release(sites, binary, { os, arch }) {
      if (os !== 'linux' && binary !== 'kubectl') return undefined;
      return { url: `${sites.kubernetes}/v${KUBERNETES}/bin/${os}/${arch}/${binary}` };
    },
  },
  kwok: {
    version: KWOK,
    packages: { kwok: 'sigs.k8s.io/kwok/cmd/kwok' },
    linkerFlags: '-s -w',
    buildMinutes: { least: 1, most: 3 },
    release(sites, _binary, { os, arch }) {
      return { url: `${sites.github}/kubernetes-sigs/kwok/releases/download/v${KWOK}/kwok-${os}-${arch}` };
    },
  },
  helm: {
    version: HELM,
    packages: { helm: 'helm.sh/helm/v3/cmd/helm' },
    linkerFlags: `-s -w -X helm.sh/helm/v3/internal/version.version=v${HELM}`,
    buildMinutes: { least: 1, most: 3 },
    release(sites, _binary, { os, arch }) {
      return { url: `${sites.helm}/helm-v${HELM}-${os}-${arch}.tar.gz`, member: `${os}-${arch}/helm` };
    },
  },
};

export function projectOf(binary: BinaryName): ProjectName {
  const names = Object.keys(PROJECTS) as ProjectName[];
  const found = names.find((name) => PROJECTS[name].packages[binary] !== undefined);
  if (!found) throw new Error(`${binary} belongs to no project`);
  return found;
}

export function thisPlatform() {
  const os = process.platform;
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  if ((os !== 'linux' && os !== 'darwin') || (arch !== 'amd64' && arch !== 'arm64')) {
    throw new Error(`the sandbox runs on Linux and macOS, amd64 and arm64, not on ${os} ${arch}`);
  }
  return { os, arch };
}

/** Without these flags the API server reports v0.0.0, and clients that look at the version fail. */
function kubernetesLinkerFlags(version: string): string {
  const [major, minor] = version.split('.');
  const set = (name: string, value: string | undefined) => `-X k8s.io/component-base/version.${name}=${value}`;
  return ['-s -w', set('gitVersion', `v${version}`), set('gitMajor', major), set('gitMinor', minor)].join(' ');
}
