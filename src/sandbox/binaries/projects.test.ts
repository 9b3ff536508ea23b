import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { BINARY_NAMES, PROJECTS, type ProjectName, projectOf, RELEASE_SITES } from './projects.ts';
import { RELEASE_SUMS, releaseRow } from './release-sums.ts';

const names = Object.keys(PROJECTS) as ProjectName[];

test.each(names)('the release of %s is the version that its Go module pins', (name) => {
  const module = readFileSync(new URL(`../../../go/${name}/go.mod`, import.meta.url), 'utf8');
  const { version, packages } = PROJECTS[name];
  for (const path of Object.values(packages)) {
    expect(module).toMatch(new RegExp(`tool[^)]*${path.replaceAll('.', '\\.')}\\b`));
    const required = [...module.matchAll(/^\s*(?:require )?(\S+) v(\S+)/gm)].filter(([, found = '']) => {
      return path === found || path.startsWith(`${found}/`);
    });
    expect(required.map(([, , found]) => found)).toContain(version);
  }
});

test('every program belongs to a project', () => {
  expect(BINARY_NAMES.map(projectOf)).toEqual([
    'etcd',
    'kubernetes',
    'kubernetes',
    'kubernetes',
    'kubernetes',
    'kwok',
    'helm',
  ]);
});

test('releases are where their projects say', () => {
  const linux = { os: 'linux', arch: 'amd64' } as const;
  const url = (name: ProjectName, binary: (typeof BINARY_NAMES)[number], platform: Parameters<Release>[2] = linux) =>
    PROJECTS[name].release(RELEASE_SITES, binary, platform)?.url;
  type Release = (typeof PROJECTS)['etcd']['release'];
  const mac = { os: 'darwin', arch: 'arm64' } as const;
  expect(url('kubernetes', 'kubectl')).toBe('https://dl.k8s.io/v1.36.3/bin/linux/amd64/kubectl');
  expect(url('kubernetes', 'kube-apiserver', mac)).toBeUndefined();
  expect(url('kubernetes', 'kubectl', mac)).toBe('https://dl.k8s.io/v1.36.3/bin/darwin/arm64/kubectl');
  expect(url('etcd', 'etcd')).toBe(
    'https://github.com/etcd-io/etcd/releases/download/v3.6.13/etcd-v3.6.13-linux-amd64.tar.gz',
  );
  expect(url('etcd', 'etcd', mac)).toMatch(/darwin-arm64\.zip$/);
  expect(url('kwok', 'kwok')).toBe('https://github.com/kubernetes-sigs/kwok/releases/download/v0.8.0/kwok-linux-amd64');
  expect(url('helm', 'helm')).toBe('https://get.helm.sh/helm-v3.22.0-linux-amd64.tar.gz');
});

test('the table of sums has a row for each published file of these versions, and no other', () => {
  const platforms = (['linux', 'darwin'] as const).flatMap((os) =>
    (['amd64', 'arm64'] as const).map((arch) => ({ os, arch })),
  );
  const rows = BINARY_NAMES.flatMap((name) =>
    platforms
      .filter((platform) => PROJECTS[projectOf(name)].release(RELEASE_SITES, name, platform))
      .map((platform) => releaseRow(name, platform)),
  );
  expect(Object.keys(RELEASE_SUMS).sort()).toEqual(rows.sort());
  for (const sum of Object.values(RELEASE_SUMS)) expect(sum).toMatch(/^([0-9a-f]{64})?$/);
});
