import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Api } from './api.ts';
import { AuditLog, addCalls, countCalls, total } from './audit.ts';

const USER = 'system:serviceaccount:attune:attune';

function line(verb: string, resource: string | undefined, stage = 'ResponseComplete', username = USER): string {
  return JSON.stringify({
    stage,
    verb,
    requestURI: '/apis?timeout=1s',
    user: { username },
    ...(resource === undefined ? {} : { objectRef: { resource } }),
  });
}

describe('counting calls', () => {
  it('counts a call once, whatever the number of its stages', () => {
    const lines = [
      line('patch', 'deployments', 'RequestReceived'),
      line('patch', 'deployments', 'ResponseComplete'),
      line('patch', 'deployments', 'ResponseComplete'),
    ];
    expect(countCalls(lines, USER)).toEqual({ 'patch deployments': 2 });
  });

  it('counts a watch when it begins, and not again when it ends', () => {
    const lines = [line('watch', 'secrets', 'ResponseStarted'), line('watch', 'secrets', 'ResponseComplete')];
    expect(countCalls(lines, USER)).toEqual({ 'watch secrets': 1 });
    expect(countCalls(lines.slice(0, 1), USER)).toEqual({ 'watch secrets': 1 });
  });

  it('counts nobody else, not even one whose name contains the user', () => {
    const lines = [line('list', 'secrets', 'ResponseComplete', `${USER}-2`), line('list', 'secrets')];
    expect(countCalls(lines, USER)).toEqual({ 'list secrets': 1 });
  });

  it('names what is no resource by its path', () => {
    expect(countCalls([line('get', undefined)], USER)).toEqual({ 'get /apis': 1 });
  });

  it('adds up by verb', () => {
    const calls = { 'create events': 3, 'create configmaps': 2, 'list secrets': 1 };
    expect(total(calls, 'create')).toBe(5);
    expect(total(calls, 'create', 'events')).toBe(2);
    expect(total(calls, 'list')).toBe(1);
    expect(addCalls([{ calls }, { calls: { 'list secrets': 2 } }])).toEqual({ ...calls, 'list secrets': 3 });
  });
});

describe('the audit log', () => {
  const folders: string[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  });

  it('is read from its present end on, by whole lines, over a change of files', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'audit-'));
    folders.push(folder);
    const path = join(folder, 'audit.log');
    writeFileSync(path, 'before\n');
    let meanwhile = (): void => {};
    const api = {
      // The API server logs a call when it has answered it.
      async call(_method: string, uri: string) {
        meanwhile();
        appendFileSync(path, `marker ${uri}\n`);
      },
    } as unknown as Api;
    const log = new AuditLog(path, api);
    appendFileSync(path, 'one\ntw');
    meanwhile = () => appendFileSync(path, 'o\n');
    expect((await log.lines()).filter((text) => !text.startsWith('marker'))).toEqual(['one', 'two']);
    meanwhile = () => {
      appendFileSync(path, 'last of the old\n');
      renameSync(path, join(folder, 'audit-old.log'));
      writeFileSync(path, 'first of the new\n');
    };
    const lines = await log.lines();
    log.close();
    expect(lines.filter((text) => !text.startsWith('marker'))).toEqual(['last of the old', 'first of the new']);
  });
});
