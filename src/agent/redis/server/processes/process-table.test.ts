import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { eventually } from '../../../../../test/support/eventually.ts';
import { followChild, followStranger } from './follow.ts';
import { GroupSurvives, groupMembers, killGroup, type Seen, seen } from './process-table.ts';

let child: ChildProcess;
let group: number;

beforeEach(async () => {
  child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
  await once(child, 'spawn');
  group = child.pid ?? 0;
});

afterEach(async () => {
  vi.restoreAllMocks();
  await killGroup(group);
});

/** As in uninterruptible sleep: SIGKILL counts only later. */
const survives = () => vi.spyOn(process, 'kill').mockReturnValue(true);
const forbids = () =>
  vi.spyOn(process, 'kill').mockImplementation(() => {
    throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' });
  });
const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'no failure',
    (error: unknown) => error,
  );

describe('killGroup', () => {
  it('returns when nothing is left', async () => {
    await killGroup(group);
    expect(groupMembers(group)).toEqual([]);
  });

  it('has an end: it names the group that survives, and does not look at all processes all the time', async () => {
    const kill = survives();
    const error = await failure(killGroup(group, 400));
    expect(error).toBeInstanceOf(GroupSurvives);
    expect(String(error)).toBe(`GroupSurvives: process group ${group} survives SIGKILL for 400 ms (pid ${group})`);
    expect(kill.mock.calls.length).toBeLessThan(30);
  });

  it('says at once that nobody may kill it', async () => {
    forbids();
    expect(String(await failure(killGroup(group)))).toBe(`GroupSurvives: process group ${group}: kill EPERM`);
  });
});

describe('a server that is followed', () => {
  it.each([
    ['started by this agent', (dead: Seen, server: ChildProcess) => followChild(dead, server)],
    ['started by another agent', (dead: Seen) => followStranger(dead)],
  ])('%s, with leftovers that cannot be killed: it is gone when they are, and nothing rejects', async (_, follow) => {
    const server = spawn('true', { stdio: 'ignore' });
    await once(server, 'exit');
    const kill = forbids();
    const { gone } = follow({ pid: server.pid ?? 0, startedAt: 'long ago', group }, server);
    let ended = 'not yet';
    const watched = gone.then(
      () => {
        ended = 'gone';
      },
      (error) => {
        ended = String(error);
      },
    );
    await eventually(() => kill.mock.calls.length).toBeGreaterThan(1);
    expect([ended, seen(group)?.pid]).toEqual(['not yet', group]);
    kill.mockRestore();
    await watched;
    expect([ended, groupMembers(group)]).toEqual(['gone', []]);
  });
});
