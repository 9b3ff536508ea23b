import { readdirSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  agent,
  dataDir,
  ends,
  log,
  logged,
  root,
  send,
  servers,
  startFile,
  timesLogged,
} from '../../../../test/support/server-process-world.ts';
import { until } from '../../../../test/support/wait.ts';
import { groupMembers } from './processes/process-table.ts';

describe('stop', () => {
  test('saves, and several calls are one signal', async () => {
    const server = agent();
    await server.start(startFile(['save', '900 1'], ['rdb-key-save-delay', '20000']));
    for (const key of ['a', 'b', 'c']) await send('SET', key, '1');
    const first = server.stop(10_000);
    await until(async () => (await timesLogged('Received SIGTERM')) === 1, { what: 'Redis has the signal' });
    server.signal('SIGTERM');
    server.signal('SIGINT');
    expect(await Promise.all([first, server.stop(10_000), server.stop(1)])).toEqual(['ended', 'ended', 'ended']);
    expect(await timesLogged('Received SIG')).toBe(1);
    expect(readdirSync(dataDir)).toContain('dump.rdb');
    expect(await server.stop(1)).toBe('ended');
  });

  test('one signal, though the agent was killed after it', async () => {
    const first = agent();
    await first.start(startFile(['save', '900 1'], ['rdb-key-save-delay', '400000']));
    for (const key of ['a', 'b', 'c', 'd', 'e']) await send('SET', key, '1');
    first.signal('SIGTERM');
    await until(async () => (await timesLogged('Received SIGTERM')) === 1, { what: 'Redis has the signal' });
    const state = join(root, 'state', 'server.json');
    await until(async () => (await readFile(state, 'utf8')).includes('SIGTERM'), { what: 'it is noted' });
    const second = agent();
    expect(await second.adopt()).toBe(true);
    expect(await second.stop(10_000)).toBe('ended');
    expect(await timesLogged('Received SIG')).toBe(1);
    expect(readdirSync(dataDir)).toContain('dump.rdb');
  });

  test('with a folder that cannot be written Redis refuses to end, and is killed within the deadline', async () => {
    const server = agent();
    await server.start(startFile(['save', '900 1']));
    await send('SET', 'a', '1');
    const { pid } = server;
    await rm(dataDir, { recursive: true });
    const began = performance.now();
    expect(await server.stop(2000)).toBe('killed');
    expect(performance.now() - began).toBeGreaterThan(1999);
    expect(performance.now() - began).toBeLessThan(20_000);
    expect(await log()).toContain("can't exit");
    expect([groupMembers(pid ?? 0), server.running, ends]).toEqual([[], false, []]);
  });

  test('with a hung Redis, and with its child', async () => {
    const server = agent();
    await server.start(startFile(['rdb-key-save-delay', '10000000']));
    await send('SET', 'a', '1');
    await send('BGSAVE');
    const pid = server.pid ?? 0;
    expect(groupMembers(pid)).toHaveLength(2);
    process.kill(pid, 'SIGSTOP');
    expect(await server.stop(100)).toBe('killed');
    expect(groupMembers(pid)).toEqual([]);
  });

  test('a full disk for what is remembered is no reason to go on', async () => {
    await writeFile(join(root, 'state'), 'a file where the folder should be');
    const server = agent();
    expect(await server.start(startFile())).toMatchObject({ ok: true });
    expect(await server.stop(5000)).toBe('ended');
    expect(logged).toContain('could not be kept');
  });

  test('while it starts: it does not start again', async () => {
    const server = agent();
    await server.start(startFile());
    await server.stop(5000);
    const starting = server.start(startFile(['maxmemory', '1mb']));
    await until(() => server.running, { what: 'it runs' });
    await server.stop(5000);
    await starting;
    expect([server.running, servers()]).toEqual([false, []]);
  });
});

describe('an end that nobody wanted', () => {
  test('is told with what is known of it, after its child is gone', async () => {
    const server = agent();
    await server.start(startFile(['rdb-key-save-delay', '10000000']));
    await send('SET', 'a', '1');
    await send('BGSAVE');
    const pid = server.pid ?? 0;
    process.kill(pid, 'SIGKILL');
    const [end] = await until(() => ends.length > 0 && ends, { what: 'the end is told' });
    expect(end).toEqual({ pid, code: undefined, signal: 'SIGKILL', asked: false });
    expect([server.running, servers()]).toEqual([false, []]);
    expect(await server.start(startFile())).toMatchObject({ ok: true });
  });

  test('after a signal that was asked for it has its exit code', async () => {
    const server = agent();
    await server.start(startFile());
    const { pid } = server;
    server.signal('SIGINT');
    server.signal('SIGINT');
    await until(() => ends.length > 0, { what: 'the end is told' });
    expect(ends).toEqual([{ pid, code: 0, signal: undefined, asked: true }]);
    expect(await timesLogged('Received SIGINT')).toBe(1);
  });

  test('of a server that was taken over', async () => {
    await agent().start(startFile());
    const second = agent();
    await second.adopt();
    const pid = second.pid ?? 0;
    process.kill(pid, 'SIGKILL');
    await until(() => ends.length === 2, { what: 'both are told' });
    expect(ends).toContainEqual({ pid, code: undefined, signal: undefined, asked: false });
  });
});
