import { expect, test } from 'vitest';
import { tellingWorld } from '../../../test/support/telling-world.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { LedgerReport } from './ledger-report.ts';

const failure = (status: number, reason: string): KubeError =>
  new KubeError({ verb: 'update', path: '/api/v1/namespaces/attune/configmaps/attune-ledger-0', status, reason });
const RESET = failure(0, 'Unreachable');
const FORBIDDEN = failure(403, 'Forbidden');

const failing = (error: KubeError, ...shards: readonly string[]): ReadonlyMap<string, KubeError> =>
  new Map((shards.length > 0 ? shards : ['attune-ledger-0']).map((shard) => [shard, error]));
const KEPT: ReadonlyMap<string, KubeError> = new Map();

const messages = (lines: readonly string[]) =>
  lines.map((line) => /level=(\w+) msg="([^:"]*)/.exec(line)?.slice(1).join(' ') ?? line);

test('a moment is no reason to say anything; what lasts is told once, and so is its end', () => {
  const { clock, deps, lines } = tellingWorld();
  const report = new LedgerReport(deps);
  for (let second = 0; second < 300; second += 1) {
    report.ledgerState(failing(RESET));
    if (second === 59) expect(lines).toEqual([]);
    clock.advance(1000);
  }
  expect(messages(lines)).toEqual(['warning the ledger could not be written for 60 s, and is tried again and again']);
  report.ledgerState(KEPT);
  report.ledgerState(KEPT);
  expect(messages(lines)).toHaveLength(2);
  expect(lines[1]).toContain('the ledger is kept again');
  report.ledgerState(failing(RESET));
  expect(lines).toHaveLength(2);
});

test('failures with successes between them do not last', () => {
  const { clock, deps, lines } = tellingWorld();
  const report = new LedgerReport(deps);
  for (let minute = 0; minute < 5; minute += 1) {
    report.ledgerState(failing(RESET));
    report.ledgerState(KEPT);
    clock.advance(60_000);
  }
  expect(lines).toEqual([]);
});

test('a shard that is refused for good is named at once, with a cure that fits, and again only after it was kept', () => {
  const { deps, lines } = tellingWorld();
  const report = new LedgerReport(deps);
  report.ledgerState(failing(FORBIDDEN));
  report.ledgerState(failing(FORBIDDEN));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('ledger write refused: attune-ledger-0. Attune may miss changes during a downtime');
  expect(lines[0]).toContain('cure="grant get, create and update on configmaps in the own namespace"');
  report.ledgerState(KEPT);
  report.ledgerState(failing(failure(413, 'RequestEntityTooLarge')));
  expect(lines).toHaveLength(3);
  expect(lines[2]).toContain('refused');
  expect(lines[2]).not.toContain('cure');
});

test('several shards that are refused at once are one line, and one more is another', () => {
  const { deps, lines } = tellingWorld();
  const report = new LedgerReport(deps);
  report.ledgerState(failing(FORBIDDEN, 'attune-ledger-3', 'attune-ledger-5'));
  report.ledgerState(failing(FORBIDDEN, 'attune-ledger-3', 'attune-ledger-5', 'attune-ledger-7'));
  report.ledgerState(failing(FORBIDDEN, 'attune-ledger-7'));
  expect(lines).toHaveLength(2);
  expect(lines[0]).toContain('refused: attune-ledger-3, attune-ledger-5.');
  expect(lines[1]).toContain('refused: attune-ledger-7.');
});

test('writes are counted by what became of them', () => {
  const { deps, metric } = tellingWorld();
  const report = new LedgerReport(deps);
  for (const result of ['success', 'error', 'error'] as const) report.ledgerWrite(result);
  expect(metric('attune_ledger_writes_total{result="success"}')).toBe(1);
  expect(metric('attune_ledger_writes_total{result="error"}')).toBe(2);
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
