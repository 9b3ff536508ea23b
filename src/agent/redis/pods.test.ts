import { describe, expect, it } from 'vitest';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import type { KubeClient } from '../../kube/client.ts';
import { KubeError } from '../../kube/kube-error.ts';
import { Pods } from './pods.ts';
import type { RedisAgentSettings } from './settings.ts';

const AWAY = new KubeError({ verb: 'get', path: '/pods/x', status: 0, reason: 'Unreachable' });
const ABSENT = new KubeError({ verb: 'get', path: '/pods/x', status: 404, reason: 'NotFound' });

/** A server that answers one after the other of these. */
function podsOf(...answers: readonly (object | KubeError)[]) {
  const clock = virtualClock();
  let asked = 0;
  const get = async () => {
    const answer = answers[asked];
    asked += 1;
    if (!answer || answer instanceof Error) throw answer;
    return answer;
  };
  const settings = { podNamespace: 'ns', podName: 'me', podIp: '', resyncMs: 30_000 } as RedisAgentSettings;
  const pods = new Pods({ get } as unknown as Pick<KubeClient, 'get'>, settings, clock);
  return { pods, clock, asked: () => asked };
}

const pod = { metadata: { name: 'x' }, status: { podIP: '10.0.0.1' } };

describe('whether a pod exists', () => {
  it('is asked once for a while', async () => {
    const { pods, clock, asked } = podsOf(pod, ABSENT);
    expect(await pods.exists('x')).toBe(true);
    expect(await pods.exists('x')).toBe(true);
    expect(asked()).toBe(1);
    clock.advance(30_000);
    expect(await pods.exists('x')).toBe(false);
  });

  it('is believed while the server is away, which is not asked in every pass', async () => {
    const { pods, clock, asked } = podsOf(pod, AWAY, AWAY);
    expect(await pods.exists('x')).toBe(true);
    clock.advance(30_000);
    expect([await pods.exists('x'), await pods.exists('x')]).toEqual([true, true]);
    expect(asked()).toBe(2);
    expect(pods.addresses).toEqual(['10.0.0.1']);
    // Of one that nobody has heard of: to wait for it does less harm.
    expect(await pods.exists('y')).toBe(true);
  });
});

describe('the own address', () => {
  it('is looked up until there is one', async () => {
    const { pods, asked } = podsOf({ metadata: { name: 'me' } }, pod);
    expect([await pods.ownIp(), await pods.ownIp(), await pods.ownIp()]).toEqual(['', '10.0.0.1', '10.0.0.1']);
    expect(asked()).toBe(2);
    expect(pods.addresses).toEqual([]);
  });
});
