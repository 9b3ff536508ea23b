import { expect, test } from 'vitest';
import { APP, web } from '../../test/support/engine-world.ts';
import { tellingWorld } from '../../test/support/telling-world.ts';
import type { SourceRef } from '../api/sources.ts';
import { isUndelivered } from '../cli/traces.ts';
import { KubeError } from '../kube/kube-error.ts';
import type { Change } from './act.ts';
import { Report } from './report.ts';
import { newState, sourceId } from './workload-state.ts';

const WHAT = "'web' of type 'Deployment' in namespace 'shop'";

const change = (name: string, kind: SourceRef['kind'] = 'ConfigMap'): Change => {
  const ref: SourceRef = { kind, namespace: 'shop', name };
  return {
    id: sourceId(ref),
    ref,
    verdict: { reload: true, because: 'auto', rule: 'auto is set', container: 0 },
    difference: 'changed',
    since: 1,
    current: 'B',
    mark: 'b',
  };
};
const state = () => newState(web(3), undefined);
const at = (level: string, lines: readonly string[]) => lines.filter((line) => line.includes(`level=${level}`));

test('one source: the words of Stakater', () => {
  const { deps, events, lines } = tellingWorld();
  new Report(deps).reloaded(state(), [change('db', 'Secret')], 0);
  const cause = "Changes detected in 'db' of type 'SECRET' in namespace 'shop'";
  expect(events).toMatchObject([
    { type: 'Normal', reason: 'Reloaded', message: `${cause}, Updated ${WHAT}`, component: 'reloader-secrets' },
  ]);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(`msg="${cause}; updated ${WHAT}" reason=auto rule="auto is set"`);
});

test('forty sources: one Event with a list that ends, one line, and the rest for who asks for details', () => {
  const { deps, events, lines, alerts, metric } = tellingWorld();
  const changes = Array.from({ length: 40 }, (_, n) => change(`app-${n}`, n % 2 === 0 ? 'ConfigMap' : 'Secret'));
  new Report(deps).reloaded(state(), changes, 0);
  const listed = changes.slice(0, 10).map(({ ref }) => `'${ref.name}' of type '${ref.kind.toUpperCase()}'`);
  const cause = `Changes detected in ${listed.join(', ')} and 30 more in namespace 'shop'`;
  expect(events.map(({ message }) => message)).toEqual([`${cause}, Updated ${WHAT}`]);
  expect(at('info', lines)).toEqual([expect.stringContaining(`${cause}; updated ${WHAT}" sources=40`)]);
  expect(at('debug', lines)).toHaveLength(40);
  expect(alerts).toHaveLength(40);
  expect(metric('reloader_reload_executed_total{success="true"}')).toBe(1);
  expect(metric('attune_settled_total{how="rolled"}')).toBe(40);
});

test('the longest names fit into an Event', () => {
  const { deps, events } = tellingWorld();
  const name = 'w'.repeat(253);
  const namespace = 'n'.repeat(63);
  const changes = Array.from({ length: 12 }, (_, n) => change(`${n}`.padEnd(253, 'x')));
  const long = state();
  long.workload = { ...long.workload, ref: { kind: 'Deployment', namespace, name } };
  new Report(deps).reloaded(long, changes, 0);
  expect(events[0]?.message).toMatch(/and \d+ more in namespace 'shop', Updated 'w+' of type/);
  expect(events[0]?.message.length).toBeLessThan(1024);
});

test('as Stakater: an Event and a line for each source', () => {
  const { deps, events, lines } = tellingWorld();
  new Report({ ...deps, compat: true }).reloaded(state(), [change('app'), change('db', 'Secret')], 0);
  expect(events.map(({ message, component }) => [message, component])).toEqual([
    [`Changes detected in 'app' of type 'CONFIGMAP' in namespace 'shop', Updated ${WHAT}`, 'reloader-configmaps'],
    [`Changes detected in 'db' of type 'SECRET' in namespace 'shop', Updated ${WHAT}`, 'reloader-secrets'],
  ]);
  expect(at('info', lines)).toHaveLength(2);
});

test('a standby says and counts nothing of what others do', () => {
  const { deps, events, lines, metric } = tellingWorld();
  const report = new Report({ ...deps, mayTell: () => false });
  report.settledByOther(state(), APP);
  report.reverted(state(), APP, true);
  report.sourceChanged(APP, { before: 'A', after: 'B', flagsMoved: false }, [[state(), change('app').verdict]]);
  report.problems(
    newState(web(3, { annotations: { 'deployment.reloader.stakater.com/pause-period': 'x' } }), undefined),
  );
  report.checkpoint('found');
  expect([lines, events]).toEqual([[], []]);
  expect(metric('attune_settled_total{how="already-rolled"}')).toBeUndefined();
  expect(metric('attune_reverted_total')).toBe(0);
});

const refusal = (status: number, reason: string, detail?: string) =>
  new KubeError({ verb: 'get', path: '/api/v1/namespaces/shop/secrets/db', status, reason, detail });

test('what cannot be read is told once for each kind and cause, and then counted', () => {
  const { deps, lines, metric } = tellingWorld();
  const report = new Report(deps);
  const secret = (n: number): SourceRef => ({ kind: 'Secret', namespace: 'shop', name: `db-${n}` });
  for (let n = 0; n < 50; n += 1) report.unreadable(secret(n), refusal(403, 'Forbidden'));
  expect(at('warning', lines)).toHaveLength(1);
  expect(lines[0]).toContain('cannot read Secret shop/db-0: get');
  expect(lines[0]).toContain('cure="grant get on secrets"');
  for (let n = 0; n < 50; n += 1) report.unreadable(secret(n), refusal(503, 'ServiceUnavailable'));
  report.unreadable(APP, refusal(403, 'Forbidden'));
  expect(at('warning', lines)).toHaveLength(3);
  expect(metric('attune_source_read_errors_total{kind="Secret",reason="Forbidden"}')).toBe(50);
  expect(metric('attune_source_read_errors_total{kind="ConfigMap",reason="Forbidden"}')).toBe(1);
});

test('Events that do not arrive are told for many at once, with a cure where there is one', () => {
  const { deps, events, lines } = tellingWorld();
  const report = new Report(deps);
  report.reloaded(state(), [change('app')], 0);
  const [event] = events;
  if (!event) throw new Error('no Event');
  lines.splice(0);
  report.droppingEvents('full', event);
  report.droppedEvents('full', 5978);
  for (let n = 0; n < 9; n += 1) report.refusedEvent(refusal(403, 'Forbidden'));
  report.refusedEvent(refusal(403, 'Forbidden', 'because it is being terminated'));
  expect(lines.map((line) => /msg="([^"]*)/.exec(line)?.[1])).toEqual([
    'Events are being dropped: too many were waiting for the API server',
    '5978 Events were dropped: too many were waiting for the API server',
    'Events do not arrive: get /api/v1/namespaces/shop/secrets/db: 403 Forbidden',
  ]);
  expect(lines[2]).toContain('grant create and patch on events');
});

test('an outage is no line for each try', () => {
  const { clock, deps, lines } = tellingWorld();
  const report = new Report(deps);
  for (let second = 0; second < 120; second += 1) {
    report.waitingForServer(refusal(0, 'Unreachable'));
    report.electionTrouble(refusal(0, 'Unreachable'));
    clock.advance(1000);
  }
  expect(lines).toHaveLength(4);
});

test('explain understands an Event of several sources', () => {
  const { deps, events } = tellingWorld();
  const report = new Report(deps);
  report.reverted(state(), APP, false);
  report.reloaded(state(), [change('db', 'Secret'), change('app')], 0);
  const traces = events.map((event, n) => ({ ...event, at: '', version: n }));
  expect([isUndelivered(traces.slice(0, 1), APP), isUndelivered(traces, APP)]).toEqual([true, false]);
});
