import { execFileSync } from 'node:child_process';
import { mkdir, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { KubeletVolume } from '../../../test/support/kubelet-volume.ts';
import { testFolder } from '../../../test/support/test-folder.ts';
import { readSnapshot } from './read-snapshot.ts';
import type { FileContent } from './snapshot.ts';

const folder = testFolder('snapshot');
const volume = () => new KubeletVolume(folder.path);
const text = (content: FileContent) => (content.kind === 'bytes' ? content.bytes.toString() : content);
const MISSING = { kind: 'missing' };

describe('a volume of the kubelet', () => {
  it('is read through its link, and stays what it was after the next swap', async () => {
    const secrets = volume();
    await secrets.swap({ 'redis-auth/password': 'one', 'redis-acl/acl': '' });
    const before = await readSnapshot(folder.path);
    await secrets.swap({ 'redis-auth/password': 'two' });
    const after = await readSnapshot(folder.path);
    expect(before.root).toBe(folder.path);
    expect(text(before.get('redis-auth/password'))).toBe('one');
    expect(text(before.get('redis-acl/acl'))).toBe('');
    expect(text(after.get('redis-auth/password'))).toBe('two');
    expect(after.get('redis-acl/acl')).toEqual(MISSING);
  });

  it('is never a mixture, however often it is swapped meanwhile', async () => {
    const secrets = volume();
    const files = (value: string) => Object.fromEntries(Array.from({ length: 8 }, (_, at) => [`f${at}/key`, value]));
    await secrets.swap(files('0'));
    let last = 0;
    const swaps = (async () => {
      // At first without a pause, so that hardly any reading is quick enough.
      for (; last < 120; last += 1) {
        await secrets.swap(files(String(last + 1)));
        if (last > 40) await delay(5);
      }
    })();
    const seen = new Set<string>();
    try {
      while (last < 120) {
        const snapshot = await readSnapshot(folder.path);
        const values = new Set(Array.from({ length: 8 }, (_, at) => JSON.stringify(text(snapshot.get(`f${at}/key`)))));
        expect([...values]).toHaveLength(1);
        for (const value of values) seen.add(value);
      }
    } finally {
      await swaps;
    }
    const unread = {
      kind: 'unreadable',
      why: 'is in the mounted folder, which is replaced faster than it can be read',
    };
    expect(seen).toContain(JSON.stringify(unread));
    expect(seen.size).toBeGreaterThan(4);
    expect(text((await readSnapshot(folder.path)).get('f0/key'))).toBe('120');
  });

  it('does not show what the kubelet keeps for itself', async () => {
    await volume().swap({ 'tls.crt': 'x' });
    const snapshot = await readSnapshot(folder.path);
    expect(text(snapshot.get('tls.crt'))).toBe('x');
    expect(snapshot.get('..data/tls.crt')).toEqual(MISSING);
  });
});

describe('a plain folder', () => {
  it('is read as it is, with links to files elsewhere', async () => {
    await mkdir(join(folder.path, 'mount/redis-auth'), { recursive: true });
    await writeFile(join(folder.path, 'mount/redis-auth/password'), Buffer.from([0, 255]));
    await writeFile(join(folder.path, 'elsewhere'), 'e');
    await symlink('../elsewhere', join(folder.path, 'mount/link'));
    const snapshot = await readSnapshot(join(folder.path, 'mount'));
    expect(snapshot.get('redis-auth/password')).toEqual({ kind: 'bytes', bytes: Buffer.from([0, 255]) });
    expect(text(snapshot.get('./redis-auth//password'))).toBe('\0\ufffd');
    expect(text(snapshot.get('link'))).toBe('e');
  });

  it('is left by no path', async () => {
    await folder.file('outside', 'x');
    await mkdir(join(folder.path, 'mount'));
    const snapshot = await readSnapshot(join(folder.path, 'mount'));
    for (const path of ['../outside', '/etc/passwd', 'a/../../outside', join(folder.path, 'outside'), '..', 'a\0b']) {
      expect(snapshot.get(path)).toEqual(MISSING);
    }
  });

  it('that is not there has nothing', async () => {
    const snapshot = await readSnapshot(join(folder.path, 'no-such-folder'));
    expect(snapshot.get('tls.crt')).toEqual(MISSING);
  });
});

describe('what cannot be read says why', () => {
  const why = async (path: string, root = folder.path) => (await readSnapshot(root)).get(path);
  const unreadable = (words: string) => ({ kind: 'unreadable', why: words });

  it('too large', async () => {
    await truncate(await folder.file('acl', ''), 10_485_760);
    await truncate(await folder.file('just', ''), 2_097_152);
    expect(await why('acl')).toEqual(unreadable('is 10485760 bytes, at most 2097152 are read'));
    expect((await why('just')).kind).toBe('bytes');
  });

  it('a folder', async () => {
    await mkdir(join(folder.path, 'password'));
    expect(await why('password')).toEqual(unreadable('is a folder, expected a file'));
    expect(await why('')).toEqual(unreadable('is a folder, expected a file'));
    expect(await why('password/x')).toEqual(MISSING);
  });

  it('links that lead nowhere, or in circles', async () => {
    await symlink('nowhere', join(folder.path, 'broken'));
    await symlink('circle', join(folder.path, 'circle'));
    await symlink('.', join(folder.path, 'again'));
    expect(await why('broken')).toEqual(unreadable('is a link that leads nowhere'));
    expect(await why('circle')).toEqual(unreadable('is a link that leads back to itself (ELOOP)'));
    const deep = Array(8).fill('again').join('/');
    expect(await why(deep)).toEqual(unreadable('is more than 8 folders deep'));
    expect(await why(`${deep}/broken`)).toEqual(unreadable(`is in folder ${deep}, which is more than 8 folders deep`));
  });

  it('a pipe, which nobody writes to', async () => {
    execFileSync('mkfifo', [join(folder.path, 'pipe')]);
    expect(await why('pipe')).toEqual(unreadable('is no file but a pipe or a device'));
  });

  it('a mount that is a file', async () => {
    const root = await folder.file('mount', 'x');
    expect(await why('tls.crt', root)).toEqual(unreadable('is in the mounted folder, which is no folder (ENOTDIR)'));
  });
});
