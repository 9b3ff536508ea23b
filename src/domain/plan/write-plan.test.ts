import { expect, test } from 'vitest';
import { podUsing, policyOf, workloadOf } from '../../../test/conformance/given.ts';
import { markOf, stateOf } from '../../../test/support/engine-world.ts';
import { change } from '../../../test/support/telling-world.ts';
import type { RolloutStrategy } from '../asks/ask.ts';
import { planWrite } from './write-plan.ts';

const RESTART = { 'reloader.stakater.com/rollout-strategy': 'restart' };

/** Under compat, for an Argo Rollout whose template has the mark of the very data that is to be brought. */
function planned(annotations: Readonly<Record<string, string>>, rolloutStrategy: RolloutStrategy | undefined) {
  const pod = podUsing('ConfigMap', 'app');
  const env = [{ name: 'STAKATER_APP_CONFIGMAP', value: markOf('A') }];
  const [container] = pod['containers'] as readonly object[];
  const marked = { ...pod, containers: [{ ...container, env }] };
  const state = stateOf(workloadOf({ kind: 'Rollout', metadata: annotations, pod: marked }));
  const plain = change('app');
  const ask = { ...plain.verdict.ask, overrides: { rolloutStrategy } };
  const changes = [{ ...plain, mark: markOf('A'), verdict: { ...plain.verdict, ask } }];
  const policy = policyOf({ compat: true });
  return planWrite(state, changes, { ...{ policy, now: 0, isPaused: false }, shorten: String, configHash: String }).do;
}

test('a config that asks for a restart gets it, whatever an old mark says', () => {
  expect(planned({}, 'restart')).toBe('restart');
});

test('as upstream, an annotation that asks for it does not, nor does who wants a mark that is there', () => {
  expect(planned(RESTART, undefined)).toBe('skip');
  expect(planned(RESTART, 'rollout')).toBe('skip');
});
