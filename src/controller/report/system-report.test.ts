import { describe, expect, test } from 'vitest';
import { APP, DEPLOYMENT } from '../../../test/support/engine-world.ts';
import { tellingWorld } from '../../../test/support/telling-world.ts';
import type { SourceRef } from '../../api/sources.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { Report } from './report.ts';

const at = (level: string, lines: readonly string[]) => lines.filter((line) => line.includes(`level=${level}`));
const refusal = (status: number, reason: string) =>
  new KubeError({ verb: 'get', path: '/api/v1/namespaces/shop/secrets/db', status, reason });

test('what cannot be read is told once for each kind and cause, and then counted', () => {
  const { deps, lines, metric } = tellingWorld();
  const report = new Report(deps);
  const secret = (n: number): SourceRef => ({ kind: 'Secret', namespace: 'shop', name: `db-${n}` });
  for (let n = 0; n < 50; n += 1) report.watches.unreadable(secret(n), refusal(403, 'Forbidden'));
  expect(at('warning', lines)).toHaveLength(1);
  expect(lines[0]).toContain('cannot read Secret shop/db-0: get');
  expect(lines[0]).toContain('cure="grant get on secrets"');
  for (let n = 0; n < 50; n += 1) report.watches.unreadable(secret(n), refusal(503, 'ServiceUnavailable'));
  report.watches.unreadable(APP, refusal(403, 'Forbidden'));
  expect(at('warning', lines)).toHaveLength(3);
  expect(metric('attune_source_read_errors_total{kind="Secret",reason="Forbidden"}')).toBe(50);
  expect(metric('attune_source_read_errors_total{kind="ConfigMap",reason="Forbidden"}')).toBe(1);
});

test('a kind that cannot be listed is told with what would help', () => {
  const { deps, lines } = tellingWorld();
  const { watches } = new Report(deps);
  const cureOf = (status: number, reason: string) => {
    watches.unavailable(DEPLOYMENT, {}, refusal(status, reason));
    return /cure="([^"]*)"/.exec(lines.at(-1) ?? '')?.[1];
  };
  expect(cureOf(403, 'Forbidden')).toBe('grant list and watch on deployments.apps');
  expect(cureOf(404, 'NotFound')).toBeUndefined();
  expect(cureOf(0, 'TooLarge')).toContain('make deployments.apps smaller');
});

test('an outage is no line for each try', () => {
  const { clock, deps, lines } = tellingWorld();
  const report = new Report(deps);
  for (let second = 0; second < 120; second += 1) {
    report.watches.waitingForServer(refusal(0, 'Unreachable'));
    report.system.electionTrouble(refusal(0, 'Unreachable'));
    clock.advance(1000);
  }
  expect(lines).toHaveLength(4);
});

test('a Lease of another that hardly ends is told, with what to do about it', () => {
  const { deps, lines } = tellingWorld();
  const { system } = new Report(deps);
  system.holder('ours', 15_000);
  expect(at('warning', lines)).toEqual([]);
  system.holder('another', 2_147_483_647_000);
  expect(at('warning', lines)).toEqual([
    expect.stringMatching(/another lasts 2147483647 s.* cure="if another does not run any more, delete the Lease"/),
  ]);
});

describe('a last write, once the process was told to end', () => {
  const lastWrites: [string, (report: Report, error: KubeError) => void][] = [
    ['the ledger', (report, error) => report.ledger.ledgerState(new Map([[`attune-ledger-${error.status}`, error]]))],
    ['the Lease', (report, error) => report.system.electionTrouble(error)],
    ['an Event', (report, error) => report.system.refusedEvent(error)],
    ['a status', (report, error) => report.system.statusRefused(error)],
  ];

  test.each(lastWrites)('%s: Helm removes rights before the pod, so a refusal is no trouble', (_, write) => {
    const { deps, lines, end } = tellingWorld();
    const report = new Report(deps);
    end();
    for (const status of [401, 403]) write(report, refusal(status, 'Forbidden'));
    expect(lines.filter((line) => !line.includes('level=debug'))).toEqual([]);
    write(report, refusal(403, 'Forbidden'));
    expect(lines.at(-1)).toMatch(/level=debug .*403 Forbidden/);
  });

  test.each(lastWrites)('%s: before that it is', (_, write) => {
    const { deps, lines, end } = tellingWorld();
    write(new Report(deps), refusal(403, 'Forbidden'));
    end();
    expect(at('warning', lines)).toHaveLength(1);
  });

  test.each(lastWrites)('%s: and any other refusal is', (_, write) => {
    const { deps, lines, end } = tellingWorld();
    end();
    write(new Report(deps), refusal(422, 'Invalid'));
    expect(at('warning', lines)).toHaveLength(1);
  });
});
