import { type BinaryName, PROJECTS, projectOf, type thisPlatform } from './projects.ts';

type Platform = ReturnType<typeof thisPlatform>;

/** SHA-256 of published files, by program, version and platform; '' where nobody has filled it in. */
export type ReleaseSums = Readonly<Record<string, string>>;

/**
 * A file is downloaded only if its SHA-256 stands here, and then only these bytes are accepted: a sum that comes from the
 * same site as the file proves nothing. A program without a sum is built by Go, whose go.sum pins its sources.
 *
 * To fill one in, read it where its project publishes it, and compare it with a file loaded over another network:
 *   etcd   https://github.com/etcd-io/etcd/releases/download/v3.6.13/SHA256SUMS (of the .tar.gz for Linux, the .zip for macOS)
 *   kube-* https://dl.k8s.io/v1.36.3/bin/OS/ARCH/PROGRAM.sha256
 *   kwok   https://api.github.com/repos/kubernetes-sigs/kwok/releases/tags/v0.8.0 (`digest` of kwok-OS-ARCH)
 *   helm   https://get.helm.sh/helm-v3.22.0-OS-ARCH.tar.gz.sha256sum
 */
export const RELEASE_SUMS: ReleaseSums = {
  'etcd 3.6.13 linux/amd64': '',
  'etcd 3.6.13 linux/arm64': '',
  'etcd 3.6.13 darwin/amd64': '',
  'etcd 3.6.13 darwin/arm64': '',
  'kube-apiserver 1.36.3 linux/amd64': '',
  'kube-apiserver 1.36.3 linux/arm64': '',
  'kube-controller-manager 1.36.3 linux/amd64': '',
  'kube-controller-manager 1.36.3 linux/arm64': '',
  'kube-scheduler 1.36.3 linux/amd64': '',
  'kube-scheduler 1.36.3 linux/arm64': '',
  'kubectl 1.36.3 linux/amd64': '',
  'kubectl 1.36.3 linux/arm64': '',
  'kubectl 1.36.3 darwin/amd64': '',
  'kubectl 1.36.3 darwin/arm64': '',
  'kwok 0.8.0 linux/amd64': '',
  'kwok 0.8.0 linux/arm64': '',
  'kwok 0.8.0 darwin/amd64': '',
  'kwok 0.8.0 darwin/arm64': '',
  'helm 3.22.0 linux/amd64': '',
  'helm 3.22.0 linux/arm64': '',
  'helm 3.22.0 darwin/amd64': '',
  'helm 3.22.0 darwin/arm64': '',
};

/** The row of a program in the table. */
export const releaseRow = (binary: BinaryName, { os, arch }: Platform): string =>
  `${binary} ${PROJECTS[projectOf(binary)].version} ${os}/${arch}`;
