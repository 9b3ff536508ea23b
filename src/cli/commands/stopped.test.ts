import { afterAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { listOf, scriptedApi } from '../../../test/support/scripted-api.ts';
import { kubeconfig, testFolder } from '../../../test/support/test-folder.ts';
import { runCli } from '../cli.ts';

const folder = testFolder('stopped');
/** What is answered; the server is silent about everything else, for longer than any test lasts. */
let answered = /^$/;
beforeEach(() => {
  answered = /^$/;
});

const api = await scriptedApi(({ path, verb, json, status }) => {
  if (!answered.test(path)) return;
  if (verb === 'list') json(200, listOf([], '1'));
  else status(403, 'Forbidden');
});
afterAll(() => api[Symbol.asyncDispose]());

/** Stopped when the server has heard of it and does not answer; nobody waits for the answer any more. */
async function stopped(argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const KUBECONFIG = await folder.file('kubeconfig', kubeconfig(api.connection.server.origin));
  const stop = new AbortController();
  const said: string[] = [];
  const say = (text: string) => void said.push(text);
  const before = api.requests.length;
  const io = { env: { KUBECONFIG, ...env }, stdout: say, stderr: say, signal: stop.signal, terminal: {} };
  const code = runCli(argv, io);
  const waiting = () => api.requests.slice(before).filter(({ path }) => !answered.test(path));
  await eventually(() => waiting().length > 0).toBe(true);
  stop.abort(new Error('stopped by SIGINT'));
  const ended = { code: await code, said };
  await eventually(() => waiting().every(({ closed }) => closed)).toBe(true);
  return ended;
}

// A stop that is not heard ends with the patience of the client, half a minute later. Sooner would be too soon for the
// first test on a machine with much else to do: the commands are loaded by whoever calls them.
const PATIENCE = 25_000;

test.each([['explain', 'deploy/web'], ['impact', 'cm/app'], ['doctor'], ['resume'], ['resume', '--namespaces=shop']])(
  '%s ends with a stop, whatever the server does',
  { timeout: PATIENCE },
  async (...argv) => {
    const { code, said } = await stopped(argv);
    expect(code).toBe(130);
    expect(said.join('')).not.toContain('attune ');
  },
);

test.each([
  ['reads its key', /^$/],
  ['looks at versions', /attune-ledger-key/],
])('the controller ends with a stop while it %s', { timeout: PATIENCE }, async (_, served) => {
  answered = served;
  const where = { ATTUNE_NAMESPACE: 'attune', ATTUNE_LISTEN_ADDRESS: '127.77.1.1' };
  const { code, said } = await stopped(['controller', '--log-level=error'], where);
  expect(code).toBe(0);
  expect(said.join('')).not.toContain('cannot go on');
});
