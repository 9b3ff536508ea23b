import { expect, test } from 'vitest';
import { API_COMPONENTS, type ControlPlaneSettings, commandLine, NODE_COMPONENTS } from './control-plane.ts';

const settings: ControlPlaneSettings = {
  dir: '/state/one',
  ports: { api: 20003, controllerManager: 20004, scheduler: 20005 },
  binaries: {
    etcd: '/bin/etcd',
    'kube-apiserver': '/bin/kube-apiserver',
    'kube-controller-manager': '/bin/kube-controller-manager',
    'kube-scheduler': '/bin/kube-scheduler',
    kwok: '/bin/kwok',
  },
  audit: undefined,
  etcdQuotaBytes: undefined,
};

test.each([...API_COMPONENTS, ...NODE_COMPONENTS])(
  '%s listens on loopback or in its folder alone, and writes into its folder',
  (name) => {
    const [binary, ...flags] = commandLine(name, settings);
    expect(binary).toBe(`/bin/${name}`);
    const addresses = flags.filter((flag) => /address=|urls=|initial-cluster=|node-ip=/.test(flag));
    expect(addresses.length).toBeGreaterThan(0);
    // A relative path: of a socket in the folder, in which components run.
    for (const flag of addresses) expect(flag).toMatch(/=127\.0\.0\.1$|=unix:\/\/[^/]+$/);
    for (const flag of flags.filter((text) => text.includes('=/'))) expect(flag).toContain('=/state/one/');
  },
);

test('etcd, which knows no users, listens on no port', () => {
  expect(commandLine('etcd', settings).join()).not.toMatch(/https?:|127\.0\.0\.1/);
});

test('RBAC decides what users may do', () => {
  expect(commandLine('kube-apiserver', settings)).toContain('--authorization-mode=RBAC');
});

test('an audit log and a limit of the data are written only when asked for', () => {
  expect(commandLine('kube-apiserver', settings).join()).not.toContain('audit');
  expect(commandLine('etcd', settings).join()).not.toContain('quota');
  const asked = { ...settings, audit: 'metadata', etcdQuotaBytes: 1024 } as const;
  expect(commandLine('kube-apiserver', asked)).toContain('--audit-log-path=/state/one/audit.log');
  expect(commandLine('etcd', asked)).toContain('--quota-backend-bytes=1024');
});

test('a program that nobody looked for is named', () => {
  expect(() => commandLine('kwok', { ...settings, binaries: {} })).toThrow('kwok');
});
