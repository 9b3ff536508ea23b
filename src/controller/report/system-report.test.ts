import { expect, test } from 'vitest';
import { APP } from '../../../test/support/engine-world.ts';
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
