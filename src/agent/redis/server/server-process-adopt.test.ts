import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  agent,
  dataDir,
  logged,
  others,
  root,
  send,
  servers,
  settings,
  startFile,
  timesLogged,
} from '../../../../test/support/server-process-world.ts';
import { until } from '../../../../test/support/wait.ts';
import { groupMembers } from './processes/process-table.ts';

describe('adopt', () => {
  test('nothing there', async () => {
    expect(await agent().adopt()).toBe(false);
  });

  test('the living server, without a word in the state folder', async () => {
    const first = agent();
    await first.start(startFile());
    await send('SET', 'a', '1');
    await rm(join(root, 'state'), { recursive: true });
    await rm(join(dataDir, 'redis.conf.good'));
    const second = agent();
    expect(await second.adopt()).toBe(true);
    expect(second.pid).toBe(first.pid);
    expect(await send('GET', 'a')).toBe('1');
    expect(await readFile(join(dataDir, 'redis.conf.good'), 'utf8')).toBe(startFile());
    expect(await second.start(startFile())).toMatchObject({ ok: true, adopted: true });
  });

  test('a server that is about to be seen, of an agent that was killed while it started one', async () => {
    const { stateDir } = settings().paths;
    await mkdir(stateDir);
    await writeFile(join(stateDir, 'server.json'), '{"starting":true}');
    await writeFile(join(dataDir, 'redis.conf'), startFile());
    const second = agent();
    const adopted = second.adopt();
    const child = spawn('sh', ['-c', 'sleep 0.1; exec redis-server redis.conf'], {
      cwd: dataDir,
      detached: true,
      stdio: 'ignore',
    });
    expect(await adopted).toBe(true);
    expect(servers()).toEqual([child.pid]);
  });

  test('by the state file, though the data folder is gone', async () => {
    const first = agent();
    await first.start(startFile());
    await rm(dataDir, { recursive: true });
    const second = agent();
    expect(await second.adopt()).toBe(true);
    expect(second.pid).toBe(first.pid);
    expect(await second.stop(500)).toMatch(/ended|killed/);
  });

  test('a server on another socket is of no use: it is stopped in order', async () => {
    const first = agent();
    await first.start(startFile(['save', '900 1']));
    await send('SET', 'a', '1');
    const second = agent({ paths: { ...settings().paths, socket: join(root, 'other') } });
    expect(await second.adopt()).toBe(false);
    expect(servers()).toEqual([]);
    expect(await timesLogged('Received SIGTERM')).toBe(1);
    expect(readdirSync(dataDir)).toContain('dump.rdb');
  });

  test('of two servers the one that has the socket', async () => {
    const first = agent();
    await first.start(startFile());
    const older = first.pid ?? 0;
    const conf = join(root, 'second.conf');
    await writeFile(conf, startFile());
    const child = spawn('redis-server', [conf], { cwd: dataDir, detached: true, stdio: 'ignore' });
    const newer = child.pid ?? 0;
    await until(async () => String(await send('INFO', 'server')).includes(`process_id:${newer}`), {
      what: 'the second has the socket',
    });
    const second = agent();
    expect(await second.adopt()).toBe(true);
    expect([second.pid, servers()]).toEqual([newer, [newer]]);
    expect(servers()).not.toContain(older);
    expect(logged).toContain('level=error msg="a second redis-server');
  });

  test('a bgsave whose server is dead is killed first: the newer dump survives', async () => {
    // Nobody of this process looks after the first one: agent and server are killed at the same time.
    await writeFile(join(dataDir, 'redis.conf'), startFile(['rdb-key-save-delay', '10000000']));
    const first = spawn('redis-server', ['redis.conf'], { cwd: dataDir, detached: true, stdio: 'ignore' });
    const exit = once(first, 'exit');
    await until(() => send('SET', 'old', '1'), { what: 'the first server answers' });
    await send('BGSAVE');
    const group = first.pid ?? 0;
    process.kill(group, 'SIGKILL');
    await exit;
    expect(groupMembers(group)).toHaveLength(1);

    const second = agent();
    expect(await second.adopt()).toBe(false);
    expect(groupMembers(group)).toEqual([]);
    await second.start(startFile());
    await send('SET', 'new', '1');
    await send('SAVE');
    const dump = await readFile(join(dataDir, 'dump.rdb'));
    process.kill(second.pid ?? 0, 'SIGKILL');
    await until(() => !second.running, { what: 'the second server is gone' });
    expect(await readFile(join(dataDir, 'dump.rdb'))).toEqual(dump);
    await second.start(startFile());
    expect([await send('DBSIZE'), await send('GET', 'new')]).toEqual([1, '1']);
  });

  test('agents killed at any moment: never two servers', async () => {
    const script = `
      import { ServerProcess } from '${import.meta.dirname}/server-process.ts';
      import { systemClock as clock } from '${import.meta.dirname}/../../../runtime/clock.ts';
      const silent = () => {};
      const log = { debug: silent, info: silent, warn: silent, error: silent };
      const [settings, startFile] = JSON.parse(process.argv[1]);
      const server = new ServerProcess({ settings, log, clock, onEnd: silent });
      process.stdout.write('begins\\n');
      if (!(await server.adopt())) await server.start(startFile);
      process.stdout.write('is up\\n');
      setInterval(() => {}, 1000);`;
    const argument = JSON.stringify([settings(), startFile(['save', '900 1'])]);
    const most: number[] = [];
    let took = 0;
    for (let round = 0; round < 20; round++) {
      const parent = spawn(process.execPath, ['--input-type=module', '-e', script, argument], {
        cwd: root,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      others.push(parent.pid ?? 0);
      const exit = once(parent, 'exit');
      const lines = createInterface({ input: parent.stdout })[Symbol.asyncIterator]();
      await lines.next();
      const began = performance.now();
      const isUp = lines.next();
      // The first one shows how long it takes; the others are killed at any moment of that, or a little later.
      await (round === 0 ? isUp : Promise.race([isUp, delay(Math.random() * took)]));
      took ||= 1.5 * (performance.now() - began);
      parent.kill('SIGKILL');
      await exit;
      most.push(servers().length);
      // Every third time the next one has to start a server itself.
      if (round % 3 === 2) for (const pid of servers()) process.kill(pid, 'SIGKILL');
    }
    expect(Math.max(...most)).toBe(1);
    const last = agent();
    expect(await last.start(startFile(['save', '900 1']))).toMatchObject({ ok: true });
    expect(servers()).toEqual([last.pid]);
    expect(await last.stop(5000)).toBe('ended');
  });
});
