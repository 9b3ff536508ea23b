import { lstatSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { filesOf, isSame, mountFiles } from './mounted-files.ts';
import { ContainerConfigError } from './pod-environment.ts';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'mf-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const objects: Record<string, Record<string, Buffer>> = {
  'Secret/auth': { password: Buffer.from('one'), other: Buffer.from([0, 255]) },
  'ConfigMap/conf': { key: Buffer.from('seen') },
};
const read = async (kind: string, name: string) => objects[`${kind}/${name}`];

describe('the files of a volume', () => {
  it('all keys of a Secret, with its mode', async () => {
    const files = await filesOf({ name: 'v', secret: { secretName: 'auth', defaultMode: 0o400 } }, read);
    expect([...files.keys()]).toEqual(['password', 'other']);
    expect(files.get('other')).toEqual({ bytes: Buffer.from([0, 255]), mode: 0o400 });
  });

  it('chosen keys of several objects, each under its own path', async () => {
    const sources = [
      { secret: { name: 'auth', items: [{ key: 'password', path: 'redis-auth/password' }] } },
      { configMap: { name: 'conf', items: [{ key: 'key', path: 'k', mode: 0o600 }] } },
      { secret: { name: 'none', optional: true, items: [{ key: 'x', path: 'x' }] } },
    ];
    const files = await filesOf({ name: 'v', projected: { sources } }, read);
    expect([...files.keys()]).toEqual(['redis-auth/password', 'k']);
    expect(files.get('k')?.mode).toBe(0o600);
    expect(files.get('redis-auth/password')?.mode).toBe(0o644);
  });

  it.each([
    { secret: { secretName: 'none' } },
    { projected: { sources: [{ secret: { name: 'auth', items: [{ key: 'nokey', path: 'p' }] } }] } },
  ])('%j has to be waited for', async (volume) => {
    await expect(filesOf({ name: 'v', ...volume }, read)).rejects.toThrow(ContainerConfigError);
  });
});

describe('mounted as the kubelet does it', () => {
  const file = (text: string) => ({ bytes: Buffer.from(text), mode: 0o440 });

  it('names at the top lead through a link that is swapped, and nothing old is left', () => {
    mountFiles(
      root,
      new Map([
        ['auth/password', file('one')],
        ['gone', file('x')],
      ]),
    );
    const first = readlinkSync(join(root, '..data'));
    expect(readFileSync(join(root, 'auth/password'), 'utf8')).toBe('one');
    expect(statSync(join(root, 'auth/password')).mode & 0o777).toBe(0o440);
    mountFiles(
      root,
      new Map([
        ['auth/password', file('two')],
        ['new', file('y')],
      ]),
    );
    expect(readlinkSync(join(root, '..data'))).not.toBe(first);
    expect(readFileSync(join(root, 'auth/password'), 'utf8')).toBe('two');
    expect(readdirSync(root).sort()).toEqual(['..data', readlinkSync(join(root, '..data')), 'auth', 'new'].sort());
    expect(lstatSync(join(root, 'auth')).isSymbolicLink()).toBe(true);
  });

  it('whether something has changed', () => {
    const a = new Map([['a', file('1')]]);
    expect(isSame(a, new Map([['a', file('1')]]))).toBe(true);
    expect(isSame(a, new Map([['a', file('2')]]))).toBe(false);
    expect(isSame(a, new Map([['b', file('1')]]))).toBe(false);
    expect(isSame(a, new Map([...a, ['b', file('1')]]))).toBe(false);
    expect(isSame(a, new Map([['a', { ...file('1'), mode: 0o600 }]]))).toBe(false);
  });
});
