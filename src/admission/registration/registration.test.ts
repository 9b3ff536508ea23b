import { afterEach, describe, expect, it } from 'vitest';
import { base64, RegistrationServer, TARGET } from '../../../test/support/registration-server.ts';
import { scriptedApi } from '../../../test/support/scripted-api.ts';
import { virtualClock } from '../../../test/support/virtual-clock.ts';
import { KubeClient } from '../../kube/client.ts';
import type { Clock } from '../../runtime/clock.ts';
import { counter, gauge } from '../../telemetry/metric.ts';
import { createMetrics } from '../../telemetry/metrics.ts';
import { Untrusted } from '../probe.ts';
import { keepRegistered, type RegistrationDeps } from './registration.ts';

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
});

const TABLE = {
  attune_admission_registered: gauge([], ''),
  attune_admission_registration_repairs_total: counter([], ''),
  attune_other: counter(['a'], ''),
};

async function start(given: Partial<RegistrationDeps> = {}) {
  const server = new RegistrationServer();
  const api = await scriptedApi((exchange) => server.answer(exchange));
  const client = new KubeClient(api.connection);
  const own = virtualClock();
  let resting = 0;
  const clock: Clock = {
    ...own,
    after(ms, fn) {
      resting += 1;
      const cancel = own.after(ms, fn);
      return () => {
        resting -= 1;
        cancel();
      };
    },
  };
  const lines: string[] = [];
  const say = (line: string) => void lines.push(line);
  const probes: string[] = [];
  const bundles: string[] = [];
  const timeouts: number[] = [];
  let wake = () => {};
  const metrics = createMetrics(TABLE);
  const world = { bundle: 'one', isUp: true, vouches: (_bundle: string) => true };
  const deps: RegistrationDeps = {
    client,
    target: TARGET,
    failurePolicy: 'Fail',
    timeoutFound: (seconds) => void timeouts.push(seconds),
    bundle: () => world.bundle,
    probe: async (bundle) => {
      probes.push(server.state);
      bundles.push(bundle);
      if (!world.isUp) throw new Error('connection refused');
      if (!world.vouches(bundle)) throw new Untrusted('self-signed certificate');
    },
    onBundleChange: (changed) => {
      wake = changed;
    },
    clock,
    log: { debug: say, info: say, warn: say, error: say },
    metrics,
    ...given,
  };
  const run = () => {
    const stop = new AbortController();
    const running = keepRegistered(deps, stop.signal);
    cleanUp.push(
      () => api[Symbol.asyncDispose](),
      () => client.close(),
      () => running,
      () => stop.abort(),
    );
  };
  const quiet = async () => {
    for (let turns = 0; turns < 5; turns = resting === 1 ? turns + 1 : 0) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  const live = async (ms: number) => {
    for (let left = ms; left > 0; left -= 1000) {
      await quiet();
      own.advance(Math.min(1000, left));
    }
    await quiet();
  };
  const value = (name: string): string | undefined =>
    metrics.render().match(new RegExp(`^attune_admission_${name} (.*)$`, 'm'))?.[1];
  return { server, world, lines, probes, bundles, timeouts, live, quiet, run, value, wake: () => wake() };
}

const INSTALLED = { failurePolicy: 'Ignore' };

describe('a registration that was just installed', () => {
  it('learns whom to trust under Ignore, and Fail last, each after the endpoint has answered', async () => {
    const { server, run, quiet, probes, bundles, value, lines } = await start();
    server.set('attune-install', INSTALLED);
    run();
    await quiet();
    expect(server.applied).toEqual(['Ignore one', 'Fail one']);
    expect(probes).toEqual(['Ignore ', 'Ignore one']);
    expect(bundles).toEqual(['one', 'one']);
    expect(server.state).toBe('Fail one');
    expect([value('registered'), value('registration_repairs_total')]).toEqual(['1', '0']);
    expect(lines).toEqual(['admission is registered']);
  });

  it('is left alone until the endpoint answers', async () => {
    const { server, world, run, live, value, lines } = await start();
    server.set('attune-install', INSTALLED);
    world.isUp = false;
    run();
    await live(30_000);
    expect(server.applied).toEqual([]);
    expect(value('registered')).toBe('0');
    expect(lines).toEqual(['admission is not registered before its endpoint answers over TLS: connection refused']);
    world.isUp = true;
    await live(12_000);
    expect(server.state).toBe('Fail one');
  });

  it.each([
    [{}, 10],
    [{ timeoutSeconds: 7 }, 7],
  ])('says how long the API server waits: %j', async (entry, seconds) => {
    const { server, run, quiet, timeouts } = await start();
    server.set('attune-install', { ...INSTALLED, ...entry });
    run();
    await quiet();
    expect(timeouts.at(-1)).toBe(seconds);
  });

  it('keeps Ignore where that is wanted', async () => {
    const { server, run, quiet } = await start({ failurePolicy: 'Ignore' });
    server.set('attune-install', INSTALLED);
    run();
    await quiet();
    expect(server.applied).toEqual(['Ignore one']);
  });

  it('gets its policy only, where somebody else says whom to trust', async () => {
    const { server, run, quiet, bundles } = await start({ bundle: () => '' });
    server.set('cainjector', { ...INSTALLED, caBundle: base64('theirs') });
    run();
    await quiet();
    expect(server.applied).toEqual(['Fail']);
    expect(server.state).toBe('Fail theirs');
    expect(bundles[0]).toBe('theirs');
  });

  it('is not written to if it was done already', async () => {
    const { server, run, live } = await start();
    server.set('attune-admission', { failurePolicy: 'Fail', caBundle: base64('one') });
    run();
    await live(60_000);
    expect(server.applied).toEqual([]);
  });
});

describe('somebody else says whom to trust', () => {
  const FOREIGN = { bundle: () => '' };
  const DOUBT = 'the API server does not trust admission, so failurePolicy is Ignore: ';
  const theirs = (failurePolicy: string, text = 'theirs') => ({ failurePolicy, caBundle: base64(text) });

  it('and has not yet: Ignore, and it is told why; Fail as soon as the endpoint answers to that bundle', async () => {
    const { server, run, live, lines, value, bundles } = await start(FOREIGN);
    server.set('helm', INSTALLED);
    run();
    await live(60_000);
    expect(server.applied).toEqual([]);
    expect([value('registered'), bundles.length]).toEqual(['0', 0]);
    expect(lines).toEqual([
      `${DOUBT}an entry of MutatingWebhookConfiguration attune-admission has no caBundle. Let cert-manager write the ` +
        'caBundle (annotation cert-manager.io/inject-ca-from), or put ca.crt into --admission-cert-dir',
    ]);
    server.set('cainjector', theirs('Ignore'));
    await live(12_000);
    expect([server.state, value('registered')]).toEqual(['Fail theirs', '1']);
    expect(new Set(bundles)).toEqual(new Set(['theirs']));
  });

  it('to one entry only', async () => {
    const { server, run, live } = await start(FOREIGN);
    server.set('cainjector', theirs('Ignore'));
    server.webhooks = server.webhooks?.map((each, index) =>
      index === 0 ? each : { ...each, clientConfig: { ...each.clientConfig, caBundle: '' } },
    );
    run();
    await live(30_000);
    expect(server.applied).toEqual([]);
  });

  it('and nothing, under Fail: it is taken back', async () => {
    const { server, run, quiet, lines } = await start(FOREIGN);
    server.set('an older Attune', { failurePolicy: 'Fail' });
    run();
    await quiet();
    expect(server.applied).toEqual(['Ignore']);
    expect(lines[0]).toContain(DOUBT);
  });

  it('and means another certificate: Fail is not set, or taken back, and comes with the right one', async () => {
    const { server, run, live, lines, world, value } = await start(FOREIGN);
    world.vouches = (bundle) => bundle === 'theirs';
    server.set('cainjector', theirs('Fail', 'others'));
    run();
    await live(30_000);
    expect([server.state, value('registered')]).toEqual(['Ignore others', '0']);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(`${DOUBT}self-signed certificate`);
    server.set('cainjector', theirs('Ignore'));
    await live(12_000);
    expect(server.state).toBe('Fail theirs');
    // A bundle that comes later is proven as well.
    server.set('cainjector', theirs('Fail', 'others'));
    await live(12_000);
    expect(server.state).toBe('Ignore others');
    expect([value('registration_repairs_total'), lines.filter((line) => line.includes('keeps changing'))]).toEqual([
      '0',
      [],
    ]);
  });

  it('an endpoint that does not answer is no reason to let writes pass that Fail refuses', async () => {
    const { server, run, live, world } = await start(FOREIGN);
    world.isUp = false;
    server.set('cainjector', theirs('Fail'));
    run();
    await live(30_000);
    expect(server.applied).toEqual([]);
    expect(server.state).toBe('Fail theirs');
  });

  it('is not asked again for what is proven', async () => {
    const { server, run, live, bundles } = await start(FOREIGN);
    server.set('cainjector', theirs('Fail'));
    run();
    await live(60_000);
    expect([server.applied, bundles]).toEqual([[], ['theirs']]);
  });
});

describe('a new bundle of our own', () => {
  it('is put there at once, under the policy that is there, and is no repair', async () => {
    const { server, world, run, quiet, wake, value } = await start();
    server.set('attune-install', INSTALLED);
    run();
    await quiet();
    world.bundle = 'one and two';
    wake();
    await quiet();
    expect(server.applied.slice(2)).toEqual(['Fail one and two']);
    expect(value('registration_repairs_total')).toBe('0');
  });

  it('of another replica is no change by somebody else', async () => {
    const { server, world, run, quiet, live } = await start();
    server.set('attune-install', INSTALLED);
    run();
    await quiet();
    world.bundle = 'two';
    server.set('attune-admission', { failurePolicy: 'Fail', caBundle: base64('two') });
    await live(12_000);
    expect(server.applied).toHaveLength(2);
  });
});

describe('somebody else', () => {
  it('empties it: repaired at the next look, with Ignore in between', async () => {
    const { server, run, quiet, live, value, lines } = await start();
    server.set('attune-install', INSTALLED);
    run();
    await quiet();
    server.set('argocd-controller', INSTALLED);
    await live(10_000);
    expect(server.applied.slice(2)).toEqual(['Ignore one', 'Fail one']);
    expect(value('registration_repairs_total')).toBe('1');
    expect(lines.filter((line) => line.includes('keeps changing'))).toEqual([]);
  });

  it('changes the policy alone: put back in one step', async () => {
    const { server, run, quiet, live } = await start();
    server.set('attune-install', INSTALLED);
    run();
    await quiet();
    server.set('kubectl-edit', { failurePolicy: 'Ignore', caBundle: base64('one') });
    await live(10_000);
    expect(server.applied.slice(2)).toEqual(['Fail one']);
  });

  it('empties it again and again: once a minute, and one sentence that says who and what to do', async () => {
    const { server, run, quiet, live, value, lines } = await start();
    server.set('attune-install', INSTALLED);
    run();
    await quiet();
    for (let at = 0; at < 300; at += 5) {
      server.set('argocd-controller', INSTALLED);
      await live(5000);
    }
    const repairs = Number(value('registration_repairs_total'));
    expect(repairs).toBeGreaterThanOrEqual(4);
    expect(repairs).toBeLessThanOrEqual(6);
    const sentences = lines.filter((line) => line.includes('keeps changing'));
    expect(sentences).toHaveLength(1);
    expect(sentences[0]).toContain('"argocd-controller" keeps changing caBundle or failurePolicy');
    expect(sentences[0]).toContain('ignoreDifferences');
  });

  it('undoes each write at once: two writes a minute, and not as many as there is time for', async () => {
    const { server, run, live } = await start();
    server.set('attune-install', INSTALLED);
    server.afterApply = () => server.set('operator', INSTALLED);
    run();
    await live(120_000);
    expect(server.applied.length).toBeLessThanOrEqual(8);
  });
});

describe('what is amiss is said once, with the cure, and looked at again', () => {
  it.each<[string, (server: RegistrationServer) => void, string]>([
    [
      'no registration',
      () => {},
      'there is no MutatingWebhookConfiguration attune-admission, so the API server asks nobody about admission: ' +
        'run attune admission install -n attune, or set attune.admission.enabled in the chart',
    ],
    ['no entry of ours', (server) => server.set('x', {}, ['a.example']), 'has no entry whose name ends in .admission.'],
    [
      'no right to look',
      (server) => {
        server.forbidden = ['get'];
      },
      'get mutatingwebhookconfigurations. Allow get and patch of the one named attune-admission',
    ],
    [
      'no right to write',
      (server) => {
        server.set('x', {});
        server.forbidden = ['patch'];
      },
      'patch mutatingwebhookconfigurations. Allow get and patch of the one named attune-admission',
    ],
  ])('%s', async (_, spoil, sentence) => {
    const { server, run, live, lines, value } = await start();
    spoil(server);
    run();
    await live(60_000);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(sentence);
    expect(value('registered')).toBe('0');
    server.forbidden = [];
    server.set('attune-install', INSTALLED);
    await live(12_000);
    expect(server.state).toBe('Fail one');
  });

  it('no registration of a URL: the command that makes it, and none that cannot', async () => {
    const target = { name: 'outside', namespace: '', url: 'https://10.0.0.5:9443' };
    const { run, quiet, lines } = await start({ target });
    run();
    await quiet();
    expect(lines).toEqual([
      'there is no MutatingWebhookConfiguration outside, so the API server asks nobody about admission: ' +
        'run ATTUNE_ADMISSION_NAME=outside attune admission install --admission-url=https://10.0.0.5:9443',
    ]);
  });

  it('a registration that leads elsewhere is not made to refuse writes', async () => {
    const { server, run, live, lines } = await start({ target: { ...TARGET, url: 'https://attune.example' } });
    server.set('attune-install', INSTALLED);
    run();
    await live(20_000);
    expect(server.applied).toEqual([]);
    expect(lines).toEqual([
      'MutatingWebhookConfiguration attune-admission leads to Service attune/attune-admission, port 443, path /mutate, ' +
        'and this Attune is at https://attune.example/mutate: run attune admission install ' +
        '--admission-url=https://attune.example, with the flags of this Attune',
    ]);
  });
});
