import { expect, test } from 'vitest';
import { tellingWorld } from '../../../test/support/telling-world.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { LedgerReport } from './ledger-report.ts';

const failure = (status: number, reason: string): KubeError =>
  new KubeError({ verb: 'update', path: '/api/v1/namespaces/attune/configmaps/attune-ledger-0', status, reason });
const RESET = failure(0, 'Unreachable');
const FORBIDDEN = failure(403, 'Forbidden');

const messages = (lines: readonly string[]) =>
  lines.map((line) => /level=(\w+) msg="([^:"]*)/.exec(line)?.slice(1).join(' ') ?? line);

test('a moment is no reason to say anything; what lasts is told once, and so is its end', () => {
  const { clock, deps, lines } = tellingWorld();
  const report = new LedgerReport(deps);
  for (let second = 0; second < 300; second += 1) {
    report.ledgerFailed(RESET);
    if (second === 59) expect(lines).toEqual([]);
    clock.advance(1000);
  }
  expect(messages(lines)).toEqual(['warning the ledger could not be written for 60 s, and is tried again and again']);
  report.ledgerKept();
  report.ledgerKept();
  expect(messages(lines)).toHaveLength(2);
  expect(lines[1]).toContain('the ledger is kept again');
  report.ledgerFailed(RESET);
  expect(lines).toHaveLength(2);
});

test('failures with successes between them do not last', () => {
  const { clock, deps, lines } = tellingWorld();
  const report = new LedgerReport(deps);
  for (let minute = 0; minute < 5; minute += 1) {
    report.ledgerFailed(RESET);
    report.ledgerKept();
    clock.advance(60_000);
  }
  expect(lines).toEqual([]);
});

test('what is refused for good is told at once, with a cure that fits, and again only after it was kept', () => {
  const { deps, lines, metric } = tellingWorld();
  const report = new LedgerReport(deps);
  report.ledgerFailed(FORBIDDEN);
  report.ledgerFailed(FORBIDDEN);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('the ledger cannot be kept, so changes during a downtime would be lost: update /api/v1');
  expect(lines[0]).toContain('cure="grant get, create and update on configmaps in the own namespace"');
  report.ledgerKept();
  report.ledgerFailed(failure(413, 'RequestEntityTooLarge'));
  expect(lines).toHaveLength(3);
  expect(lines[2]).toContain('cannot be kept');
  expect(lines[2]).not.toContain('cure');
  expect(metric('attune_ledger_writes_total{result="error"}')).toBe(3);
});

test('what cannot be read is no failed write', () => {
  const { deps, lines, metric } = tellingWorld();
  const report = new LedgerReport(deps);
  report.ledgerUnreadable(FORBIDDEN);
  expect(messages(lines)).toEqual([
    'warning the ledger cannot be read, so changes from before this start are not seen',
  ]);
  expect(metric('attune_ledger_writes_total{result="error"}')).toBeUndefined();
});

test('who does not lead catches nothing up and keeps nothing, and does not say so', () => {
  const { deps, lines } = tellingWorld();
  let leads = false;
  const report = new LedgerReport({ ...deps, mayTell: () => leads });
  report.checkpoint('found');
  report.ledgerUnreadable(FORBIDDEN);
  expect(lines).toEqual([]);
  leads = true;
  report.checkpoint('found');
  report.ledgerUnreadable(FORBIDDEN);
  expect(lines).toHaveLength(2);
});
