import fc from 'fast-check';
import { expect, test } from 'vitest';
import { conditionsIn, statusText, withoutFields } from './said-status.ts';

const condition = (type: string, status = 'True') => ({
  ...{ type, status, reason: 'Reconciled', message: 'fine', lastTransitionTime: '2026-01-01T12:00:00Z' },
});

test('the order of conditions and those of others make no difference, ours do', () => {
  const [available, degraded] = [condition('Available'), condition('Degraded')];
  const text = statusText({ reloadCount: 1, conditions: [available, degraded] });
  expect(statusText({ conditions: [degraded, condition('Synced'), available], reloadCount: 1 })).toBe(text);
  expect(statusText({ reloadCount: 1, conditions: [available, condition('Degraded', 'False')] })).not.toBe(text);
  expect(statusText({ reloadCount: 2, conditions: [available, degraded] })).not.toBe(text);
});

test('fields that an older definition drops are left out', () => {
  const target = { kind: 'Deployment', namespace: 'shop', name: 'web', decidedBy: 'x', restart: { pods: 1, left: 1 } };
  const status = { targetCount: 2, reloadCount: 1, targetStatus: [target] };
  const paths = [
    'spec.alerts',
    'status.targetCount',
    'status.targetStatus[].decidedBy',
    'status.targetStatus[].restart.pods',
  ];
  expect(withoutFields(status, paths)).toEqual({
    reloadCount: 1,
    targetStatus: [{ kind: 'Deployment', namespace: 'shop', name: 'web', restart: { left: 1 } }],
  });
  expect(withoutFields(status, [])).toEqual(status);
});

test('a status may hold anything', () => {
  fc.assert(
    fc.property(fc.anything(), (status) => {
      expect(typeof statusText(status)).toBe('string');
      expect(typeof statusText({ conditions: status })).toBe('string');
      expect(Array.isArray(conditionsIn({ conditions: [status] }))).toBe(true);
    }),
  );
});
