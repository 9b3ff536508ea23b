import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { now } from './api.ts';
import { imageAgent } from './contender.ts';
import { MountedFolder } from './redis/mounted-folder.ts';
import { parse, Refusal } from './redis/resp.ts';

describe('replies of Redis', () => {
  const REPLY = Buffer.from('*4\r\n$9\r\nmaxmemory\r\n:-7\r\n*-1\r\n*2\r\n+OK\r\n$4\r\n\r\n\r\n\r\n');

  it('are read as a whole, and not before all of one has come', () => {
    expect(parse(REPLY, 0)).toEqual({ value: ['maxmemory', -7, null, ['OK', '\r\n\r\n']], end: REPLY.length });
    for (let end = 0; end < REPLY.length; end += 1) expect(parse(REPLY.subarray(0, end), 0)).toBeUndefined();
  });

  it('end where the next one begins; an error is one', () => {
    const two = Buffer.from('-WRONGPASS no\r\n$2\r\nhi\r\n');
    const first = parse(two, 0);
    expect(first?.value).toEqual(new Refusal('WRONGPASS no'));
    expect(parse(two, first?.end ?? 0)).toEqual({ value: 'hi', end: two.length });
  });
});

describe('a mounted folder', () => {
  const folders: string[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  });

  it('shows what is staged when it is put in place, and nothing of before', () => {
    const root = mkdtempSync(join(tmpdir(), 'mounted-'));
    folders.push(root);
    const folder = new MountedFolder(root, { 'auth/password': 'one' });
    const read = () => readFileSync(join(root, 'auth/password'), 'utf8');
    const place = folder.stage({ 'auth/password': 'two' });
    expect(read()).toBe('one');
    const before = now();
    const at = place();
    expect(read()).toBe('two');
    expect(at).toBeGreaterThanOrEqual(before);
    expect(at).toBeLessThanOrEqual(now());
    expect(readdirSync(root).filter((name) => name.startsWith('..swap'))).toHaveLength(1);
  });
});

it('an agent is started as its image starts it', () => {
  const command = imageAgent('/a/node', '/a/attune.mjs');
  expect(command).toMatch(/^'env' ('\w+=\S*' )*'\/a\/node' ('--\S+' )*'\/a\/attune\.mjs' 'agent' 'redis'$/);
  expect(command).toContain("'--jitless'");
  expect(command).not.toContain('PATH=');
});
